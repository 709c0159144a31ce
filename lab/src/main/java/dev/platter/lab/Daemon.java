package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * A server that runs in the foreground as a child of ours and logs to a file. It is always ended by
 * SIGKILL: tests keep nothing of what a server would tidy up, and an outage gives no warning.
 */
final class Daemon {
  private static final Duration START = Duration.ofSeconds(60);
  private static final Duration POLL = Duration.ofMillis(20);
  private static final int SHOWN_LINES = 20;

  private final Process process;
  private final Path log;

  private Daemon(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  static Daemon start(Path log, Object... command) {
    return start(Map.of(), log, command);
  }

  static Daemon start(Map<String, String> environment, Path log, Object... command) {
    ProcessBuilder builder =
        new ProcessBuilder(Arrays.stream(command).map(String::valueOf).toList())
            .redirectInput(Redirect.from(Path.of("/dev/null").toFile()))
            .redirectErrorStream(true)
            .redirectOutput(Redirect.appendTo(log.toFile()));
    builder.environment().putAll(environment);
    try {
      return new Daemon(builder.start(), log);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until it serves. If it dies or never does it is ended, and the error shows its log. */
  Daemon await(BooleanSupplier ready) {
    long end = System.nanoTime() + START.toNanos();
    while (!ready.getAsBoolean()) {
      boolean alive = process.isAlive();
      if (!alive || System.nanoTime() - end > 0) {
        kill();
        throw new AssertionError(
            "%s %s; its log ends with:%n%s"
                .formatted(command(), alive ? "does not serve" : "has ended", tail()));
      }
      try {
        Thread.sleep(POLL);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        kill();
        throw new AssertionError("interrupted", e);
      }
    }
    return this;
  }

  private String command() {
    return process.info().command().orElse("the server");
  }

  private String tail() {
    try (Stream<String> lines = Files.lines(log)) {
      List<String> all = lines.toList();
      return String.join("\n", all.subList(Math.max(0, all.size() - SHOWN_LINES), all.size()));
    } catch (IOException e) {
      return "unreadable: " + e;
    }
  }

  /** Takes the CPU away from it: its connections stay, nobody answers. */
  void freeze() {
    signal("STOP");
  }

  void thaw() {
    signal("CONT");
  }

  private void signal(String name) {
    // The shell's own kill: the program is in a package of its own.
    Shell.run("sh", "-c", "kill -%s %d".formatted(name, process.pid()));
  }

  /** Ends it and all that it started, and waits until they are gone. */
  void kill() {
    Shell.end(process);
  }
}
