package dev.platter.dialect;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;

/** Paths inside a guest. */
final class GuestPaths {
  private static final int LONGEST = 4096;
  private static final int LONGEST_NAME = 255;

  /** Lines of fstab have their fields between white space, and a backslash means another letter. */
  private static final Pattern FSTAB = Pattern.compile("[^\\s\\\\#,]+");

  private GuestPaths() {}

  /** An absolute path without surprises. */
  static void check(String path) {
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException(shown(path) + " is not a path from the root");
    }
    checkRelative(path.substring(1));
  }

  /** A path that stays below where it starts. */
  static void checkRelative(String path) {
    var trimmed = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    var names = List.of(trimmed.split("/", -1));
    if (path.length() > LONGEST
        || path.chars().anyMatch(c -> c < 0x20 || c == 0x7f)
        || names.stream()
            .anyMatch(
                name ->
                    name.isEmpty()
                        || name.equals(".")
                        || name.equals("..")
                        || name.getBytes(StandardCharsets.UTF_8).length > LONGEST_NAME)) {
      throw new IllegalArgumentException(
          shown(path) + " is not a plain path: no '.', '..', '//' or control characters");
    }
  }

  /** A place where a disk is mounted. */
  static void checkMountPoint(String path) {
    check(path);
    if (!FSTAB.matcher(path).matches()) {
      throw new IllegalArgumentException(
          shown(path) + " cannot be in a guest's fstab: no white space, '\\', '#' or ','");
    }
  }

  static String join(String directory, String name) {
    return directory.endsWith("/") ? directory + name : directory + "/" + name;
  }

  private static String shown(String path) {
    return "'" + Fields.brief(path.replaceAll("\\p{Cntrl}", "?")) + "'";
  }
}
