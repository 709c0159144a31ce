package dev.platter.lab;

import java.nio.file.Path;
import java.time.Duration;

/** KubeVirt's command, which is built when it is first needed. */
public final class Virtctl {
  private static final Duration BUILD = Duration.ofMinutes(30);

  private Virtctl() {}

  public static Path program() {
    var built =
        Shell.shell().within(BUILD).check(Guest.root().resolve("lab/virtctl/build")).out().strip();
    return Path.of(built).resolve("virtctl");
  }
}
