package dev.platter.node.program;

import dev.platter.image.Printable;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
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
  private static final long REST_MILLIS = 1000;

  /** {@code output} is what it printed if all went well, and what it complained of if not. */
  public record Result(int status, String output) {
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
      var out = text(process.getInputStream());
      var err = text(process.getErrorStream());
      if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        throw PlatterException.of(
            Code.UNAVAILABLE, what + " did not end within " + limit.toSeconds() + " s", stuck);
      }
      var status = process.exitValue();
      return new Result(
          status,
          (status == 0 ? out : err)
              .completeOnTimeout("", REST_MILLIS, TimeUnit.MILLISECONDS)
              .join());
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
  private static CompletableFuture<String> text(InputStream in) {
    var text = new CompletableFuture<String>();
    Thread.startVirtualThread(
        () -> {
          try (in) {
            var bytes = in.readNBytes(MOST_OUTPUT);
            in.transferTo(OutputStream.nullOutputStream());
            text.complete(new String(bytes, StandardCharsets.UTF_8));
          } catch (IOException e) {
            text.complete(String.valueOf(e.getMessage()));
          }
        });
    return text;
  }
}
