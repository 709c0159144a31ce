package dev.platter.node.volumes;

import dev.platter.image.Printable;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A program of the system that works on devices and file systems, run to its end. */
final class Tool {
  /** Making a file system on a slow disk. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private static final int MOST_OUTPUT = 1 << 20;

  private Tool() {}

  /**
   * @param output with what it complained of
   */
  record Result(int status, String output) {}

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

  static Result attempt(String... words) throws IOException {
    var process = start(words);
    try {
      // None of these programs prints more than a pipe holds unless something is very wrong.
      if (!process.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            String.join(" ", words) + " did not end within " + LIMIT.toSeconds() + " s",
            "Look at the kernel's log: a device may not answer.");
      }
      var output = process.getInputStream().readNBytes(MOST_OUTPUT);
      return new Result(process.exitValue(), new String(output, StandardCharsets.UTF_8));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } finally {
      process.destroyForcibly();
    }
  }

  private static Process start(String... words) {
    try {
      var builder = new ProcessBuilder(List.of(words)).redirectErrorStream(true);
      builder.environment().put("LC_ALL", "C");
      return builder.redirectInput(new File("/dev/null")).start();
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "cannot run " + words[0] + ": " + e.getMessage(),
          "Volumes need util-linux, e2fsprogs and xfsprogs on the node.",
          e);
    }
  }
}
