package dev.platter.node.image;

import dev.platter.node.program.Watchers;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Starts the daemon when a VM is about to fill the file systems of its disks: QEMU pauses a guest
 * that finds no room, and the daemon lets it go on. Until then a VM needs no daemon. One that is on
 * duty has its socket open, as the kernel says.
 */
final class RoomWatch {
  private static final String COMMAND = "PLATTER_DAEMON";
  private static final String BETWEEN = "\037";
  private static final Duration EVERY = Duration.ofSeconds(5);

  /**
   * Of the process, the pause in seconds, how many bytes are short, the socket, the daemon's log,
   * and the directories. There may be a watcher for each VM: one of them starts the daemon and
   * waits for it, while the others see that its lock is held. If the daemon does not come, the next
   * tries are rarer and rarer. The log is opened for each start, since it may have been replaced.
   */
  private static final String SCRIPT =
      """
      qemu=$1 pause=$2 short=$3 socket=$4 log=$5
      shift 5
      command=$PLATTER_DAEMON
      unset PLATTER_DAEMON
      IFS=$(printf '\\037')
      set -f
      on_duty() { grep -qF " $socket" /proc/net/unix; }
      is_short() {
        for directory; do
          free=$(stat -f -c '%a * %S' "$directory" 2>/dev/null) || continue
          [ $(($free)) -ge "$short" ] || return 0
        done
        return 1
      }
      start() {
        flock -n 9 || return 0
        on_duty && return 0
        (exec 9>&-; exec $command) >>"$log" 2>&1 &
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
          sleep 2
          on_duty && return 0
          [ -d "/proc/$qemu" ] || return 0
        done
        return 1
      }
      rest=0 failed=0
      while sleep "$pause" && [ -d "/proc/$qemu" ]; do
        [ $rest -eq 0 ] || { rest=$((rest - 1)); continue; }
        { is_short "$@" && ! on_duty; } || { failed=0; continue; }
        start 9>>"$socket.start" && failed=0 || failed=$((failed + 1))
        [ $failed -lt 6 ] || failed=6
        [ $failed -eq 0 ] || rest=$((1 << failed))
      done
      """;

  private static final Watchers WATCHERS = new Watchers("platter-room", SCRIPT);

  private final Path socket;
  private final Path log;
  private final List<String> daemon;
  private final Consumer<Map<String, String>> environment;

  /**
   * @param socket that the daemon listens on
   * @param log of the daemon
   * @param daemon the command that starts it
   * @param environment leaves the variables that it is given
   */
  RoomWatch(Path socket, Path log, List<String> daemon, Consumer<Map<String, String>> environment) {
    this.socket = socket;
    this.log = log;
    this.daemon = List.copyOf(daemon);
    this.environment = environment;
  }

  /** Nothing happens if all is watched for this VM already. */
  void ensure(long qemu, List<Path> directories, long shortBytes) throws IOException {
    ensure(qemu, directories, shortBytes, EVERY);
  }

  void ensure(long qemu, List<Path> directories, long shortBytes, Duration every)
      throws IOException {
    var watched = WATCHERS.of(qemu).flatMap(List::stream).collect(Collectors.toSet());
    var missing =
        directories.stream().map(Path::toString).filter(it -> !watched.contains(it)).toList();
    if (missing.isEmpty()) {
      return;
    }
    var words = new ArrayList<String>();
    words.add(Long.toString(every.toSeconds()));
    words.add(Long.toString(shortBytes));
    words.add(socket.toString());
    words.add(log.toString());
    words.addAll(missing);
    var builder = WATCHERS.prepare(qemu, words);
    environment.accept(builder.environment());
    builder.environment().put(COMMAND, String.join(BETWEEN, daemon));
    builder.start();
  }
}
