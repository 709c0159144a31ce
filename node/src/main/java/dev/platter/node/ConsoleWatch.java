package dev.platter.node;

import dev.platter.node.program.Watchers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Keeps the console of a VM from filling the disk while no command of ours runs, as {@link
 * ConsoleRoom} does. On a cluster that is the daemon's work; on one machine a VM needs none.
 */
final class ConsoleWatch {
  private static final Duration EVERY = Duration.ofSeconds(10);

  /** Of the process, the log, how many bytes are kept, and the pause in seconds. */
  private static final String SCRIPT =
      """
      while sleep "$4" && kill -0 "$1" 2>/dev/null; do
        taken=$(stat -c '%b * %B' "$2") && size=$(stat -c %s "$2") || continue
        [ $(($taken)) -lt $((2 * $3)) ] ||
          fallocate --punch-hole --offset 0 --length $(((size - $3) / 4096 * 4096)) "$2"
      done
      """;

  private static final Watchers WATCHERS = new Watchers("platter-console", SCRIPT);

  private ConsoleWatch() {}

  /** Nothing happens if somebody watches it already. */
  static void ensure(long qemu, Path log) throws IOException {
    ensure(qemu, log, EVERY);
  }

  static void ensure(long qemu, Path log, Duration every) throws IOException {
    if (WATCHERS.of(qemu).anyMatch(words -> words.getFirst().equals(log.toString()))) {
      return;
    }
    var words =
        List.of(log.toString(), Long.toString(ConsoleRoom.KEPT), Long.toString(every.toSeconds()));
    var builder = WATCHERS.prepare(qemu, words);
    // Not the caller's environment: it may hold credentials.
    builder.environment().keySet().retainAll(List.of("PATH"));
    builder.start();
  }
}
