package dev.platter.bench;

import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageDaemon;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.image.Images;
import dev.platter.plan.StateLayout;
import dev.platter.registry.Reference;
import dev.platter.registry.Registries;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The daemon in this process, compiled by earlier rounds as that of a busy node is, with an empty
 * state and no connection to anywhere.
 */
final class WarmDaemon implements AutoCloseable {
  private final StateLayout layout;
  private final ImageDaemon daemon;
  private final Images images;

  WarmDaemon(Path directory) throws IOException {
    this.layout = LabNode.layout(directory);
    var registries = Registries.fromEnvironment(System.getenv());
    ImageSources sources =
        text -> {
          var reference = Reference.parse(text);
          return new ImageSources.Located(
              registries.client(reference), reference.tagOrDigest(), text);
        };
    this.daemon =
        ImageDaemon.start(
                layout, sources, ImageUsers.NONE, _ -> {}, LabDaemon.options(LabDaemon.NEVER))
            .orElseThrow(() -> new IOException("another daemon is at " + directory));
    this.images = new ImageClient(layout, sources, new DaemonLauncher(layout, List.of("false")));
  }

  StateLayout layout() {
    return layout;
  }

  /** The disk of an image as QEMU gets it: asked for over one socket, read over the other. */
  NbdReader open(String reference, String digest) throws IOException {
    images.ensure(reference, digest, Images.BytesDone.NOBODY);
    return NbdReader.connect(layout.nbdSocket(), digest);
  }

  /** Waits until all of it is here, in the file of the base. */
  Path complete(String reference, String digest) throws IOException {
    images.complete(reference, digest, Images.BytesDone.NOBODY);
    return layout.base(digest);
  }

  @Override
  public void close() throws IOException {
    images.close();
    daemon.close();
  }
}
