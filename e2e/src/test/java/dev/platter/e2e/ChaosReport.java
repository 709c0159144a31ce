package dev.platter.e2e;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * How long guests waited, by what had died. A pause, by the guest's clock, is between two records
 * of one boot. It counts for the first that died in it, or else for the last that died before.
 *
 * @param struck in order
 * @param said of all VMs
 */
record ChaosReport(
    String conditions, List<Struck> struck, List<List<Consoles.Said>> said, List<String> faults) {
  private static final String QUIET = "(nothing)";

  record Struck(String what, Instant at) {}

  /** Of one thing that died: the guest's clock tells how long its writes took. */
  private static final class Row {
    private int times;
    private Duration pause = Duration.ZERO;
    private Duration silence = Duration.ZERO;
  }

  /** For people, in Markdown. */
  String page() {
    return """
    # Chaos

    `./chaos` starts VMs on a [cluster of two nodes](../lab/kube/README.md). Their guests write five records a second, each with a flush, and say on their
    consoles which ones the disk has confirmed. A third of them write to overlays of a registry's image that are kept on their node, a third to an NBD server outside
    (`write-exclusive`), a third to claims. Meanwhile everything around them is killed (`SIGKILL`) in turn, on either node; the kubelet, containerd, the API server and etcd stay away for up to six seconds. Then
    one node has a power cut: what can run elsewhere must not start there before the node is said to be out of service, and must then; the rest must go on when the node is
    switched on again. Afterwards all disks are read by `qemu-img`.

    It fails if a guest saw an error or was started again before the power cut, if a record that a console showed is not on the disk byte for byte, if a disk had two writers (by its records, and by the log of
    the NBD server), or if a node or the API server has anything left when the VMs are deleted.

    The last result, written by `./chaos --publish`:

    %s
    A *pause* is what a guest noticed: its write waited, or it got no processor. A *silence* is what a reader of `kubectl logs` noticed: while the daemon or containerd is away, lines
    wait, and none is lost. A daemon that was killed several times in ten minutes is away for minutes: the kubelet waits longer each time before it starts such a container again.

    Live migration has [a chaos of its own](chaos-migrations.md).
    """
        .formatted(result());
  }

  String result() {
    return "%s: %d kills, %d records, %s.\n\n%s"
        .formatted(
            conditions,
            struck.size(),
            said.stream().mapToInt(List::size).sum(),
            faults.isEmpty() ? "no fault" : faults.size() + " faults",
            table());
  }

  private String table() {
    var rows = new LinkedHashMap<String, Row>();
    rows.put(QUIET, new Row());
    for (var one : struck) {
      rows.computeIfAbsent(one.what(), _ -> new Row()).times++;
    }
    said.forEach(vm -> boots(vm).values().forEach(boot -> measure(boot, rows)));
    var text =
        new StringBuilder(
            "| killed | times | longest pause between two records | longest silence of a console |\n"
                + "|---|--:|--:|--:|\n");
    rows.forEach(
        (what, row) ->
            text.append(
                "| %s | %s | %s s | %s s |\n"
                    .formatted(
                        what,
                        what.equals(QUIET) ? "" : Integer.toString(row.times),
                        seconds(row.pause),
                        seconds(row.silence))));
    return text.toString();
  }

  private static String seconds(Duration time) {
    return String.format(Locale.ROOT, "%.1f", time.toMillis() / 1000.0);
  }

  private static Map<String, List<Consoles.Said>> boots(List<Consoles.Said> vm) {
    var boots = new LinkedHashMap<String, List<Consoles.Said>>();
    for (var one : vm) {
      boots.computeIfAbsent(one.written().boot(), _ -> new ArrayList<>()).add(one);
    }
    boots.values().forEach(boot -> boot.sort(Comparator.comparing(one -> one.written().number())));
    return boots;
  }

  private void measure(List<Consoles.Said> boot, Map<String, Row> rows) {
    var clock = new GuestClock(boot);
    for (var i = 1; i < boot.size(); i++) {
      var before = boot.get(i - 1);
      var after = boot.get(i);
      var heard = rows.get(cause(before.at(), after.at()));
      heard.silence = max(heard.silence, Duration.between(before.at(), after.at()));
      var from = clock.time(before.written());
      var to = clock.time(after.written());
      var waited = rows.get(cause(from, to));
      waited.pause = max(waited.pause, Duration.between(from, to));
    }
  }

  /** The first that died between the two, or else the last before. */
  private String cause(Instant from, Instant to) {
    var last = QUIET;
    for (var one : struck) {
      if (one.at().isAfter(to)) {
        break;
      }
      last = one.what();
      if (!one.at().isBefore(from)) {
        break;
      }
    }
    return last;
  }

  private static Duration max(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }
}
