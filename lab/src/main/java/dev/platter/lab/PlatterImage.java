package dev.platter.lab;

import java.nio.file.Path;
import java.time.Duration;

/**
 * The container image of Platter, by {@code scripts/container-image}. The script caches and locks;
 * here it is only remembered that this JVM has asked already. Needs root.
 */
public final class PlatterImage {
  /** What containerd calls it once it has imported the archive. */
  public static final String NAME = "platter.dev/platter:0.1.0";

  private static final Duration LIMIT = Duration.ofMinutes(20);

  private PlatterImage() {}

  private static final class Built {
    static final Path ARCHIVE =
        Path.of(
            Shell.shell()
                .within(LIMIT)
                .check(Guest.root().resolve("scripts/container-image"))
                .out()
                .strip());
  }

  /** An archive for {@code ctr -n k8s.io images import}. */
  public static Path archive() {
    return Built.ARCHIVE;
  }
}
