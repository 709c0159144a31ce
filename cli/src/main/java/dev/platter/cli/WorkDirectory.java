package dev.platter.cli;

import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Where there is room for large files of a moment. */
final class WorkDirectory {
  private WorkDirectory() {}

  /** Not /tmp, which is memory on many machines. */
  static Path of(@Nullable Path given, Map<String, String> environment) {
    var temporary = environment.getOrDefault("TMPDIR", "");
    return given != null ? given : Path.of(temporary.isEmpty() ? "/var/tmp" : temporary);
  }
}
