package dev.platter.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps the console of a VM from filling the disk while no command of ours runs. On a cluster that
 * is the daemon's work; on one machine a VM needs none, and a JVM for this alone would take more
 * memory than some guests. So it is a few lines of shell, which end with the VM's QEMU. They do
 * what {@link ConsoleRoom} does.
 */
final class ConsoleWatch {
  private static final String NAME = "platter-console";
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

  private ConsoleWatch() {}

  /** Nothing happens if somebody watches it already. */
  static void ensure(long qemu, Path log) throws IOException {
    ensure(qemu, log, EVERY);
  }

  static void ensure(long qemu, Path log, Duration every) throws IOException {
    var which = List.of(NAME, Long.toString(qemu), log.toString());
    if (isWatched(which)) {
      return;
    }
    var line = new ArrayList<>(List.of("setsid", "sh", "-c", SCRIPT));
    line.addAll(which);
    line.add(Long.toString(ConsoleRoom.KEPT));
    line.add(Long.toString(every.toSeconds()));
    var builder =
        new ProcessBuilder(line)
            .directory(Path.of("/").toFile())
            .redirectInput(Path.of("/dev/null").toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD);
    // Not the caller's environment: it may hold credentials.
    builder.environment().keySet().retainAll(List.of("PATH"));
    builder.start();
  }

  private static boolean isWatched(List<String> which) {
    var words = "\0" + String.join("\0", which) + "\0";
    return ProcessHandle.allProcesses().anyMatch(process -> line(process).contains(words));
  }

  private static String line(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
    } catch (IOException e) {
      return ""; // It has ended, or its words are no text.
    }
  }
}
