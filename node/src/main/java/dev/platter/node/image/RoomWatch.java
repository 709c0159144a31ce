package dev.platter.node.image;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Starts the daemon when a VM is about to fill the file systems of its disks: QEMU pauses a guest
 * that finds no room, and the daemon lets it go on. Until then a VM needs no daemon, and a JVM that
 * only waits for that would take more memory than some guests. So it is a few lines of shell, which
 * end with the VM's QEMU. A daemon that is on duty has its socket open, as the kernel says.
 */
final class RoomWatch {
  private static final String NAME = "platter-room";
  private static final String COMMAND = "PLATTER_DAEMON";
  private static final String BETWEEN = "\037";
  private static final Duration EVERY = Duration.ofSeconds(5);

  /** Of the process, the pause in seconds, how many bytes are short, the socket, and the files. */
  private static final String SCRIPT =
      """
      qemu=$1 pause=$2 short=$3 socket=$4
      shift 4
      command=$PLATTER_DAEMON
      unset PLATTER_DAEMON
      IFS=$(printf '\\037')
      set -f
      while sleep "$pause" && kill -0 "$qemu" 2>/dev/null; do
        for file; do
          free=$(stat -f -c '%a * %S' "$file" 2>/dev/null) || continue
          [ $(($free)) -lt "$short" ] || continue
          grep -qF " $socket" /proc/net/unix || $command &
          break
        done
      done
      """;

  private final Path socket;
  private final Path log;
  private final List<String> daemon;
  private final Predicate<String> environment;

  /**
   * @param socket that the daemon listens on
   * @param log of the daemon
   * @param daemon the command that starts it
   * @param environment the variables that it is given
   */
  RoomWatch(Path socket, Path log, List<String> daemon, Predicate<String> environment) {
    this.socket = socket;
    this.log = log;
    this.daemon = List.copyOf(daemon);
    this.environment = environment;
  }

  /** Nothing happens if somebody watches for this VM already. */
  void ensure(long qemu, List<Path> files, long shortBytes) throws IOException {
    ensure(qemu, files, shortBytes, EVERY);
  }

  void ensure(long qemu, List<Path> files, long shortBytes, Duration every) throws IOException {
    if (isWatched(qemu)) {
      return;
    }
    var line = new ArrayList<>(List.of("setsid", "sh", "-c", SCRIPT, NAME, Long.toString(qemu)));
    line.add(Long.toString(every.toSeconds()));
    line.add(Long.toString(shortBytes));
    line.add(socket.toString());
    files.forEach(file -> line.add(file.toString()));
    var builder =
        new ProcessBuilder(line)
            .directory(Path.of("/").toFile())
            .redirectInput(Path.of("/dev/null").toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    builder.environment().keySet().removeIf(environment.negate());
    builder.environment().put(COMMAND, String.join(BETWEEN, daemon));
    builder.start();
  }

  private static boolean isWatched(long qemu) {
    var words = "\0" + NAME + "\0" + qemu + "\0";
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
