package dev.platter.image.ext4;

import dev.platter.image.BadImageException;

/** One wording for all that cannot be right in a file system. */
final class Corrupt {
  private Corrupt() {}

  @SuppressWarnings("AnnotateFormatMethod") // the annotation would be a dependency
  static BadImageException because(String format, Object... values) {
    return new BadImageException(
        "the ext file system is damaged: " + format.formatted(values) + "; e2fsck may repair it");
  }
}
