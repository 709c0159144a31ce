package dev.platter.node.container;

import dev.platter.image.Printable;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another program, run to its end within a time limit. Its output goes through a file. */
final class Command {
  private static final int MOST_OUTPUT = 4 << 20;

  private Command() {}

  /** {@code output} is what it printed if all went well, and what it complained of if not. */
  record Result(int status, String output) {
    /** The last line, which is where ctr says what went wrong. */
    String complaint() {
      return Printable.of(output.lines().reduce("", (_, last) -> last), 400);
    }
  }

  /**
   * {@code what} stands for the words in an error: they may hold what is nobody else's business.
   */
  static Result run(String what, List<String> words, Duration limit) throws IOException {
    var out = Files.createTempFile("platter", ".out");
    var err = Files.createTempFile("platter", ".err");
    try {
      var status = await(start(words, out, err), what, limit);
      return new Result(status, text(status == 0 ? out : err));
    } finally {
      Files.delete(out);
      Files.delete(err);
    }
  }

  private static Process start(List<String> words, Path out, Path err) {
    try {
      return new ProcessBuilder(words)
          .redirectInput(new File("/dev/null"))
          .redirectOutput(out.toFile())
          .redirectError(err.toFile())
          .start();
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "cannot run " + words.getFirst() + ": " + e.getMessage(),
          "A disk with a container as its source needs containerd, with ctr, and util-linux.",
          e);
    }
  }

  private static int await(Process process, String what, Duration limit) {
    try {
      if (process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        return process.exitValue();
      }
      throw PlatterException.of(
          Code.UNAVAILABLE,
          what + " did not end within " + limit.toSeconds() + " s",
          "Look at the log of containerd, and try again.");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  private static String text(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return new String(in.readNBytes(MOST_OUTPUT), StandardCharsets.UTF_8);
    }
  }
}
