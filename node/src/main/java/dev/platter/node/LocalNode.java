package dev.platter.node;

import dev.platter.image.oci.OciLayout;
import dev.platter.registry.Registries;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Puts a node together from the parts of this machine. */
public final class LocalNode {
  private LocalNode() {}

  public static Node open(NodeConfig config, Progress progress) {
    var registries = new SharedRegistries();
    return new Node(
        config.layout(),
        new LocalMachine(config.layout(), config.connect()),
        reference ->
            switch (ImageName.parse(reference, config.registry())) {
              case ImageName.InLayout image ->
                  new ImageSources.Located(new OciLayout(image.directory()), image.tag());
              case ImageName.InRegistry image ->
                  new ImageSources.Located(
                      registries.get().client(image.reference()), image.reference().tagOrDigest());
            },
        progress);
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
