package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.registry.Reference;
import java.nio.file.Path;
import java.util.Optional;

/** What a user writes for an image: a place in a registry, or in a layout on this machine. */
public sealed interface ImageName {
  /** In a registry. */
  record InRegistry(Reference reference) implements ImageName {}

  /** {@code oci:DIRECTORY:TAG}. */
  record InLayout(Path directory, String tag) implements ImageName {}

  /**
   * @param registry the registry of a name that has none, in place of Docker Hub
   */
  static ImageName parse(String text, Optional<String> registry) {
    var layout = "oci:";
    if (!text.startsWith(layout)) {
      return new InRegistry(reference(registry.map(host -> qualified(text, host)).orElse(text)));
    }
    // The directory may have colons, the tag has none.
    var colon = text.lastIndexOf(':');
    if (colon < layout.length()) {
      throw PlatterException.of(
          Code.INVALID, "'" + text + "' names no tag", "Write oci:DIRECTORY:TAG.");
    }
    return new InLayout(Path.of(text.substring(layout.length(), colon)), text.substring(colon + 1));
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
          String.valueOf(e.getMessage()),
          "Write [HOST/]NAME[:TAG][@DIGEST], or oci:DIRECTORY:TAG.",
          e);
    }
  }
}
