package dev.platter.lab;

import java.nio.file.Path;
import java.time.Duration;

/**
 * The container images of Platter, by {@code scripts/container-image} and {@code
 * scripts/disk-image}. The scripts cache and lock; here it is only remembered that this JVM has
 * asked already. Needs root.
 */
public final class PlatterImage {
  /** What containerd calls it once it has imported the archive. */
  public static final String NAME = "platter.dev/platter:0.1.0";

  private static final Duration LIMIT = Duration.ofMinutes(20);

  private PlatterImage() {}

  private static final class Built {
    static final Path ARCHIVE = build("container-image");
  }

  private static final class BuiltDisk {
    static final Path ARCHIVE = build("disk-image");
  }

  private static Path build(String script) {
    Path file = Guest.root().resolve("scripts").resolve(script);
    return Path.of(Shell.shell().within(LIMIT).check(file).out().strip());
  }

  /** An archive for {@code ctr -n k8s.io images import}. */
  public static Path archive() {
    return Built.ARCHIVE;
  }

  /** An archive of the image that serves what is in its {@code /disk}. */
  public static Path disk() {
    return BuiltDisk.ARCHIVE;
  }
}
