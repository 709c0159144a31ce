package dev.platter.node.volumes;

import dev.platter.image.Printable;
import dev.platter.node.program.Programs;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** A program of the system that works on devices and file systems. */
final class Tool {
  /** Making a file system on a slow disk. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private static final Programs PROGRAMS =
      new Programs(
          "Volumes need util-linux, e2fsprogs and xfsprogs on the node.",
          "Look at the kernel's log: a device may not answer.");

  private Tool() {}

  /** What it printed; it must end well. */
  static String run(String... words) throws IOException {
    var result = attempt(words);
    if (result.status() != 0) {
      throw new IOException(
          String.join(" ", words)
              + " ended with "
              + result.status()
              + ": "
              + Printable.of(result.output().strip(), 400));
    }
    return result.output();
  }

  static Programs.Result attempt(String... words) {
    var what = String.join(" ", words);
    return PROGRAMS.run(what, List.of(words), LIMIT).whole(what);
  }
}
