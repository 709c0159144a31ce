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

  /** {@code oci:DIRECTORY:TAG} or {@code oci:DIRECTORY@DIGEST}. */
  record InLayout(Path directory, String tagOrDigest) implements ImageName {
    /** As it is written, wherever that is done. */
    @Override
    public String toString() {
      return LAYOUT + directory.toAbsolutePath() + separator() + tagOrDigest;
    }

    private char separator() {
      return tagOrDigest.startsWith(SHA256) ? '@' : ':';
    }
  }

  String LAYOUT = "oci:";
  String SHA256 = "sha256:";

  /**
   * @param registry the registry of a name that has none, in place of Docker Hub
   */
  static ImageName parse(String text, Optional<String> registry) {
    if (!text.startsWith(LAYOUT)) {
      return new InRegistry(reference(registry.map(host -> qualified(text, host)).orElse(text)));
    }
    // The directory may have colons, the tag has none.
    var digest = text.lastIndexOf("@" + SHA256);
    var end = digest < 0 ? text.lastIndexOf(':') : digest;
    if (end < LAYOUT.length()) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + text + "' names no tag",
          "Write oci:DIRECTORY:TAG or oci:DIRECTORY@sha256:….");
    }
    return new InLayout(Path.of(text.substring(LAYOUT.length(), end)), text.substring(end + 1));
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
