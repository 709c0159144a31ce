package dev.platter.lab;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Builds guests with the scripts under {@code guest/}. The scripts cache and lock; here it is only
 * remembered that this JVM has asked already.
 */
final class Guest {
  private static final Duration LIMIT = Duration.ofMinutes(20);
  private static final Map<String, Path> BUILT = new ConcurrentHashMap<>();

  private Guest() {}

  static Path file(String guest, String name) {
    return directory(guest).resolve(name);
  }

  static Path directory(String guest) {
    return BUILT.computeIfAbsent(guest, Guest::build);
  }

  private static Path build(String guest) {
    Path out = cache().resolve("guests").resolve(guest);
    Shell.shell().within(LIMIT).check(root().resolve("guest").resolve(guest).resolve("build"), out);
    return out;
  }

  private static Path cache() {
    String xdg = System.getenv("XDG_CACHE_HOME");
    Path base =
        xdg == null || xdg.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(xdg);
    return base.resolve("platter");
  }

  /** Where the sources are. */
  static Path root() {
    String property = System.getProperty("repo.root");
    if (property != null) {
      return Path.of(property);
    }
    for (Path dir = Path.of("").toAbsolutePath(); dir != null; dir = dir.getParent()) {
      if (Files.isDirectory(dir.resolve(".mvn"))) {
        return dir;
      }
    }
    throw new AssertionError("not inside the source tree, and no system property repo.root");
  }
}
