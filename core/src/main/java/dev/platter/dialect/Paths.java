package dev.platter.dialect;

import org.jspecify.annotations.Nullable;

/** Paths on this machine. */
final class Paths {
  private Paths() {}

  /** A required path from the root, of characters that XML and QEMU take. */
  static @Nullable String absolute(Fields fields, String key, String example) {
    var path = fields.requiredText(key, example);
    if (path == null) {
      return null;
    }
    if (path.chars().anyMatch(c -> c < 0x20 || c == 0x7f)) {
      fields.problem(key, "a path has no control characters");
      return null;
    }
    if (!path.startsWith("/")) {
      fields.problem(
          key,
          "'" + path + "' is relative, and QEMU starts in another directory; write the whole path");
      return null;
    }
    return path;
  }
}
