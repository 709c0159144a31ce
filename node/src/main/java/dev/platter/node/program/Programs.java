package dev.platter.node.program;

import dev.platter.image.Printable;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Other programs, run to their end within a time limit. No file is made for what they print: one of
 * them may be what makes room on a full disk.
 *
 * @param needs what to do where a program is not there
 * @param stuck what to do about one that does not end
 */
public record Programs(String needs, String stuck) {
  private static final int MOST_OUTPUT = 4 << 20;

  /** Another program that it left behind may have its output still open. */
  private static final Duration REST = Duration.ofSeconds(5);

  /**
   * @param output what it printed if all went well, and what it complained of if not
   * @param complete whether that is all of it, for certain
   */
  public record Result(int status, String output, boolean complete) {
    /** Fails unless it is complete: a part of a list would be taken for all of it. */
    public Result whole(String what) {
      if (!complete) {
        throw PlatterException.of(
            Code.UNAVAILABLE, what + " ended, and what it said did not come", "Try again.");
      }
      return this;
    }

    /** The last line, which is where most programs say what went wrong. */
    public String complaint() {
      return Printable.of(output.lines().reduce("", (_, last) -> last), 400);
    }
  }

  /**
   * {@code what} stands for the words in an error: they may hold what is nobody else's business.
   */
  public Result run(String what, List<String> words, Duration limit) {
    var process = start(words);
    try {
      var out = Printed.by(process.getInputStream());
      var err = Printed.by(process.getErrorStream());
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw PlatterException.of(
            Code.UNAVAILABLE, what + " did not end within " + limit.toSeconds() + " s", stuck);
      }
      var status = process.exitValue();
      var said = status == 0 ? out : err;
      var complete = said.reader().join(REST);
      return new Result(status, said.bytes().toString(StandardCharsets.UTF_8), complete);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }

  private Process start(List<String> words) {
    try {
      var builder = new ProcessBuilder(words).redirectInput(new File("/dev/null"));
      builder.environment().put("LC_ALL", "C");
      return builder.start();
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "cannot run " + words.getFirst() + ": " + e.getMessage(), needs, e);
    }
  }

  /** While it runs, since a pipe holds little; what nobody can want to read is thrown away. */
  private record Printed(ByteArrayOutputStream bytes, Thread reader) {
    /** Not in a virtual thread: those wait for calls of the kernel that take long. */
    static Printed by(InputStream in) {
      var bytes = new ByteArrayOutputStream();
      var reader = Thread.ofPlatform().daemon().name("output").start(() -> read(in, bytes));
      return new Printed(bytes, reader);
    }

    private static void read(InputStream in, ByteArrayOutputStream bytes) {
      var buffer = new byte[1 << 13];
      try (in) {
        for (var n = in.read(buffer); n >= 0; n = in.read(buffer)) {
          bytes.write(buffer, 0, Math.min(n, MOST_OUTPUT - bytes.size()));
        }
      } catch (IOException e) {
        // What it left behind has been ended.
      }
    }
  }
}
