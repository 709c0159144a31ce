package dev.platter.node;

import dev.platter.image.oci.OciLayout;
import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.Images;
import dev.platter.node.image.LocalImages;
import dev.platter.registry.Registries;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Puts a node together from the parts of this machine. */
public final class LocalNode {
  private LocalNode() {}

  public static Node open(NodeConfig config, Progress progress) {
    return new Node(
        config.layout(),
        new LocalMachine(config.layout(), config.connect()),
        images(config),
        progress);
  }

  private static Images images(NodeConfig config) {
    var layout = config.layout();
    return config.daemon().isEmpty()
        ? new LocalImages(layout, sources(config), new VmImages(layout))
        : new ImageClient(layout, sources(config), new DaemonLauncher(layout, config.daemon()));
  }

  static ImageSources sources(NodeConfig config) {
    var registries = new SharedRegistries();
    return reference ->
        switch (ImageName.parse(reference, config.registry())) {
          case ImageName.InLayout image ->
              new ImageSources.Located(
                  new OciLayout(image.directory()),
                  image.tag(),
                  "oci:" + image.directory().toAbsolutePath() + ":" + image.tag());
          case ImageName.InRegistry image ->
              new ImageSources.Located(
                  registries.get().client(image.reference()),
                  image.reference().tagOrDigest(),
                  image.reference().toString());
        };
  }

  /** One for all images, since limits on connections are its; read when the first image is. */
  private static final class SharedRegistries {
    private @Nullable Registries registries;

    synchronized Registries get() throws IOException {
      if (registries == null) {
        registries = Registries.fromEnvironment(System.getenv());
      }
      return registries;
    }
  }
}
