package dev.platter.bench;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;

/** Runs a rival. A failed program looks infinitely fast, so the exit status is always checked. */
final class Tool {
  private Tool() {}

  static Stopwatch.Reading time(String... command) throws IOException, InterruptedException {
    return run(command).reading;
  }

  static String output(String... command) throws IOException, InterruptedException {
    return run(command).output;
  }

  /** For what has to be undone at the end of a benchmark. */
  static void cleanUp(String... command) throws IOException {
    try {
      run(command);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(List.of(command) + " was interrupted");
    }
  }

  private record Result(Stopwatch.Reading reading, String output) {}

  private static Result run(String... command) throws IOException, InterruptedException {
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    var watch = Stopwatch.start();
    var process = builder.start();
    var output =
        new String(
            process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    var status = process.waitFor();
    var reading = watch.stop();
    if (status != 0) {
      throw new IOException(List.of(command) + " failed with status " + status + ": " + output);
    }
    return new Result(reading, output);
  }
}
