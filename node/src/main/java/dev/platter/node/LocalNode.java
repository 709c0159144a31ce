package dev.platter.node;

import dev.platter.image.oci.OciLayout;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.Images;
import dev.platter.node.image.LocalImages;
import dev.platter.registry.Credentials;
import dev.platter.registry.Reference;
import dev.platter.registry.RegistryClient;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** Puts a node together from the parts of this machine. */
public final class LocalNode {
  private static final String LAYOUT = "oci:";

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
    ImageSources sources = reference -> find(reference, config.registry());
    return config.daemon().isEmpty()
        ? new LocalImages(layout, sources, () -> VmRecord.digests(layout))
        : new ImageClient(layout, sources, new DaemonLauncher(layout, config.daemon()));
  }

  static ImageSources.Located find(String reference, Optional<String> registry) throws IOException {
    if (reference.startsWith(LAYOUT)) {
      return inLayout(reference);
    }
    var parsed = reference(registry.map(host -> qualified(reference, host)).orElse(reference));
    var client = new RegistryClient(parsed, Credentials.fromEnvironment(System.getenv()));
    return new ImageSources.Located(client, parsed.tagOrDigest());
  }

  /** {@code oci:DIRECTORY:TAG}; the directory may have colons, the tag has none. */
  private static ImageSources.Located inLayout(String reference) {
    var colon = reference.lastIndexOf(':');
    if (colon < LAYOUT.length()) {
      throw PlatterException.of(
          Code.INVALID, "'" + reference + "' names no tag", "Write oci:DIRECTORY:TAG.");
    }
    var directory = Path.of(reference.substring(LAYOUT.length(), colon));
    return new ImageSources.Located(new OciLayout(directory), reference.substring(colon + 1));
  }

  /** Docker's rule: the first part is a host if it has a dot or a colon, or is localhost. */
  private static String qualified(String reference, String host) {
    var slash = reference.indexOf('/');
    var first = slash < 0 ? "" : reference.substring(0, slash);
    return first.contains(".") || first.contains(":") || first.equals("localhost")
        ? reference
        : host + "/" + reference;
  }

  private static Reference reference(String text) {
    try {
      return Reference.parse(text);
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + text + "' is not an image reference: " + e.getMessage(),
          "Write [HOST/]NAME[:TAG][@DIGEST], or oci:DIRECTORY:TAG.",
          e);
    }
  }
}
