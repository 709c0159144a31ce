package dev.platter.bench;

import dev.platter.lab.KubeNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Applies pods or VMs, all in one call of kubectl, and finds out when each of them came how far.
 * All clocks are this machine's.
 */
final class ApplyRound {
  /** What passes between {@code kubectl apply} and the first line of a pod's log, in this order. */
  enum Part {
    /**
     * Until the pod exists: kubectl, the API server, and for VMs the controller and the webhook.
     */
    API,
    /** Until it has a node. */
    SCHEDULING,
    /** Until its container was started. */
    KUBELET,
    /** Until what is in the container does its work: a launcher has called, and the VM is known. */
    LAUNCHER,
    /** Until the VM's disks are made, if they were not before. */
    DISK,
    /** Until QEMU runs the guest. */
    QEMU,
    /** Until the first line: firmware, and the guest's kernel. */
    GUEST
  }

  /** Milliseconds: less than this is what it takes not to wait. */
  private static final double WAITED = 0.5;

  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final Duration POLL = Duration.ofMillis(100);
  private static final Pattern RUNS =
      Pattern.compile(
          "default/(\\S+): runs after [0-9.]+ ms \\(prepare [0-9.]+, disk ([0-9.]+), launcher"
              + " ([0-9.]+), qemu ([0-9.]+)\\)");

  private final BenchCluster cluster;
  private final String prefix;
  private final int count;

  /**
   * @param prefix of the names, which is never used again
   */
  ApplyRound(BenchCluster cluster, String prefix, int count) {
    this.cluster = cluster;
    this.prefix = prefix;
    this.count = count;
  }

  /**
   * @param template with {@code NAME} in the place of the name
   * @param containerName the name of the pod's container
   * @return milliseconds of each that was applied
   */
  List<Map<Part, Double>> run(String template, String containerName) throws Exception {
    var names = IntStream.range(0, count).mapToObj(i -> prefix + "-" + i).toList();
    var yaml =
        names.stream()
            .map(name -> template.replace("NAME", name))
            .collect(Collectors.joining("---\n"));
    try (var watch = PodWatch.start(cluster.kube())) {
      Thread.sleep(1000); // The watch must be there, and the last round's pods forgotten.
      var begin = Instant.now();
      cluster.apply(yaml);
      var pods = firstLines(watch, names, containerName);
      var containers = containers();
      var starts = starts();
      var out = new ArrayList<Map<Part, Double>>();
      for (var name : names) {
        var pod = Objects.requireNonNull(pods.get(name));
        var container = Objects.requireNonNull(containers.get(name), "the container of " + name);
        var started = PodLogs.started(node(pod.seen.node()), container);
        out.add(parts(begin, pod, started, starts.get(name)));
      }
      return out;
    }
  }

  private record Pod(PodWatch.Seen seen, Instant firstLine) {}

  /** When the daemon said that the guest runs, and how long its own parts took. */
  private record Start(Instant runs, double disk, double waited, double qemu) {}

  private Map<String, Pod> firstLines(PodWatch watch, List<String> names, String container)
      throws Exception {
    var found = new HashMap<String, Pod>();
    var until = System.nanoTime() + PATIENCE.toNanos();
    while (found.size() < names.size()) {
      if (System.nanoTime() > until) {
        throw new IllegalStateException(
            "no first line of "
                + names.stream().filter(name -> !found.containsKey(name)).toList()
                + "\n"
                + cluster.kube().tryKubectl("get", "vm,pods", "-o", "wide").out());
      }
      Thread.sleep(POLL);
      for (var pod : watch.pods().entrySet()) {
        if (names.contains(pod.getKey())
            && pod.getValue().isBound()
            && !found.containsKey(pod.getKey())) {
          var node = node(pod.getValue().node());
          PodLogs.of(node, "default", pod.getKey() + "_", container).stream()
              .findFirst()
              .ifPresent(line -> found.put(pod.getKey(), new Pod(pod.getValue(), line.at())));
        }
      }
    }
    return found;
  }

  private static Map<Part, Double> parts(
      Instant begin, Pod pod, Instant started, @Nullable Start start) {
    var out = new EnumMap<Part, Double>(Part.class);
    out.put(Part.API, millis(begin, pod.seen.made()));
    out.put(Part.SCHEDULING, millis(pod.seen.made(), pod.seen.bound()));
    out.put(Part.KUBELET, millis(pod.seen.bound(), started));
    if (start == null) {
      out.put(Part.LAUNCHER, millis(started, pod.firstLine));
      return out;
    }
    // What has waited for the launcher was made before, beside the kubelet's work, or in part.
    var ours = millis(started, start.runs) - start.qemu;
    var disk = start.waited > WAITED ? 0 : Math.clamp(start.disk, 0, Math.max(0, ours));
    out.put(Part.LAUNCHER, ours - disk);
    out.put(Part.DISK, disk);
    out.put(Part.QEMU, start.qemu);
    out.put(Part.GUEST, millis(start.runs, pod.firstLine));
    return out;
  }

  private static double millis(Instant from, Instant to) {
    return Duration.between(from, to).toNanos() / 1e6;
  }

  private KubeNode node(String name) {
    return cluster.kube().nodes().stream()
        .filter(node -> node.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** The ids of the containers, by pod. */
  private Map<String, String> containers() throws InterruptedException {
    var out = new HashMap<String, String>();
    var until = System.nanoTime() + PATIENCE.toNanos();
    while (out.size() < count && System.nanoTime() < until) {
      cluster
          .kube()
          .kubectl(
              "get",
              "pods",
              "--output=jsonpath={range .items[*]}{.metadata.name}"
                  + " {.status.containerStatuses[0].containerID}{\"\\n\"}{end}")
          .lines()
          .map(line -> line.split(" containerd://", 2))
          .filter(words -> words.length == 2)
          .forEach(words -> out.put(words[0], words[1].strip()));
      Thread.sleep(POLL);
    }
    return out;
  }

  private Map<String, Start> starts() throws IOException {
    var out = new HashMap<String, Start>();
    for (var node : cluster.kube().nodes()) {
      for (var line : PodLogs.of(node, "platter-system", "platter-node-", "node")) {
        var runs = RUNS.matcher(line.text());
        if (runs.find()) {
          out.put(
              runs.group(1),
              new Start(
                  line.at(), number(runs.group(2)), number(runs.group(3)), number(runs.group(4))));
        }
      }
    }
    return out;
  }

  private static double number(String text) {
    return Double.parseDouble(text);
  }
}
