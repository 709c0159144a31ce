package dev.platter.lab;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs a foreign tool to its end: no shell in between, nothing on its standard input unless it is
 * given, and always within a time limit. A tool that takes longer is killed together with what it
 * started.
 *
 * <p>Output goes through files, not pipes: a tool may leave a daemon behind that would keep a pipe
 * open.
 */
public final class Shell {
  private final Duration limit;
  private final @Nullable Path directory;
  private final Map<String, String> environment;
  private final Path input;

  private Shell(
      Duration limit, @Nullable Path directory, Map<String, String> environment, Path input) {
    this.limit = limit;
    this.directory = directory;
    this.environment = environment;
    this.input = input;
  }

  /** What a tool answered. */
  public record Result(List<String> command, int status, String out, String err) {
    public String output() {
      return out + err;
    }

    /** The end of it in one line, which is what summaries of tests show. */
    String last() {
      var lines = output().lines().filter(line -> !line.isBlank()).toList();
      return String.join(" / ", lines.subList(Math.max(0, lines.size() - 3), lines.size()));
    }
  }

  /** With a limit of a minute, in the current directory. */
  public static Shell shell() {
    return new Shell(Duration.ofMinutes(1), null, Map.of(), Path.of("/dev/null"));
  }

  public Shell within(Duration limit) {
    return new Shell(limit, directory, environment, input);
  }

  public Shell in(Path directory) {
    return new Shell(limit, directory, environment, input);
  }

  public Shell with(String variable, String value) {
    Map<String, String> more = new HashMap<>(environment);
    more.put(variable, value);
    return new Shell(limit, directory, more, input);
  }

  /** The tool reads this file as its standard input. */
  public Shell reading(Path input) {
    return new Shell(limit, directory, environment, input);
  }

  /** Standard output of a command that must succeed; arguments are turned into strings. */
  public static String run(Object... command) {
    return shell().check(command).out();
  }

  /** Runs a command that must succeed. */
  public Result check(Object... command) {
    Result result = execute(command);
    if (result.status() != 0) {
      throw new AssertionError(
          "%s: status %d: %s%n%s"
              .formatted(result.command(), result.status(), result.last(), result.output()));
    }
    return result;
  }

  /** Runs a command whose failure may be what the test is about. */
  public Result execute(Object... command) {
    List<String> words = Arrays.stream(command).map(String::valueOf).toList();
    try {
      Path out = Files.createTempFile("shell", ".out");
      Path err = Files.createTempFile("shell", ".err");
      try {
        int status = await(words, start(words, out.toFile(), err.toFile()));
        return new Result(words, status, text(out), text(err));
      } finally {
        Files.delete(out);
        Files.delete(err);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * A command that goes on until the caller destroys it; its output, without its errors, is the
   * caller's to read. There is no limit.
   */
  public Process start(Object... command) {
    try {
      return builder(Arrays.stream(command).map(String::valueOf).toList())
          .redirectError(Redirect.DISCARD)
          .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Process start(List<String> words, File out, File err) throws IOException {
    return builder(words).redirectOutput(out).redirectError(err).start();
  }

  private ProcessBuilder builder(List<String> words) {
    ProcessBuilder builder = new ProcessBuilder(words);
    builder.redirectInput(Redirect.from(input.toFile()));
    builder.environment().putAll(environment);
    if (directory != null) {
      builder.directory(directory.toFile());
    }
    return builder;
  }

  private int await(List<String> words, Process process) {
    try {
      if (process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        return process.exitValue();
      }
      throw new AssertionError("%s: not done after %s".formatted(words, limit));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("%s: interrupted".formatted(words), e);
    } finally {
      if (process.isAlive()) {
        end(process);
      }
    }
  }

  /** Kills it and all that it started, and waits until they are gone. */
  static void end(Process process) {
    List<ProcessHandle> family =
        Stream.concat(Stream.of(process.toHandle()), process.descendants()).toList();
    family.forEach(ProcessHandle::destroyForcibly);
    family.forEach(member -> member.onExit().join());
  }

  private static String text(Path file) throws IOException {
    return new String(Files.readAllBytes(file), UTF_8);
  }
}
