package dev.platter.bench;

import dev.platter.bench.ApplyRound.Part;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** What a VM on a cluster costs beside a plain pod, in time and in memory. */
final class ApplyBenchmark implements Benchmark {
  private static final int MANY = 20;
  private static final int MOST_ON_A_NODE = 50;
  private static final int ALONE = 7;
  private static final String POD = "a plain pod";
  private static final String BOUND = "what it may take";
  private static final double MIB = 1024;

  /** On a slow machine there are fewer rounds. */
  private static final Duration ROUNDS_LIMIT = Duration.ofMinutes(4);

  private static final int LEAST_ROUNDS = 3;

  /** Memory is that of programs which have been left alone for a while. */
  private static final Duration SETTLED = Duration.ofSeconds(40);

  private static final String PLAIN =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: NAME}
      spec:
        terminationGracePeriodSeconds: 0
        containers:
        - name: main
          image: lab.local/busybox:1
          imagePullPolicy: Never
          command: [sh, -c, "echo first; exec sleep 1000"]
          resources: {requests: {cpu: 100m, memory: 16Mi}}
      """;

  private int counted;

  @Override
  public String name() {
    return "apply";
  }

  @Override
  public String description() {
    return "From `kubectl apply` to the first line of the guest's console, as `kubectl logs` shows it: "
        + MANY
        + " VMs at once on two nodes that share this machine with the control plane, real QEMU without KVM, the"
        + " image on the nodes. The guest is a boot sector that says a line. Beside it as many plain pods of busybox that say a line, which is what Kubernetes"
        + " itself costs here. Times are medians over all VMs or pods of all rounds; the parts follow one another. API: until"
        + " the pod exists, with our controller and webhook. Kubelet: until containerd has started the container."
        + " Launcher: until it has called the daemon, and the daemon knows what the VM is and has planned it. Disk: until"
        + " the VM's disks are made; both begin when the kubelet asks for the pod's socket, so that little of them is left for later. QEMU: until the guest runs. Guest: its firmware, and the way of the line to the pod's log."
        + " At once, all that starts stands in line for the processors; \"one at a time\" is the same with nobody else in that line.";
  }

  @Override
  public int rounds() {
    return 7;
  }

  @Override
  public String conditions(int rounds) {
    return "Medians of "
        + counted
        + " rounds after one to warm up, interleaved. Memory is the resident set (VmRSS) 40 s after the last start, with the pages of files that others"
        + " map too";
  }

  private static String vm(String image) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: NAME}
    spec:
      terminationGracePeriodSeconds: 0
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - type: ContainerRegistryDisk:v1alpha
            source: {name: "%s"}
            target: {device: sda}
    """
        .formatted(image);
  }

  /** A VM that asks for little enough that a node of two processors takes many. */
  private static String smallVm(String image, String node) {
    return """
    apiVersion: v1
    kind: Pod
    metadata:
      name: NAME
      annotations: {kubernetes.io/target-runtime: virtlet.cloud}
    spec:
      nodeSelector: {kubernetes.io/hostname: %s}
      terminationGracePeriodSeconds: 0
      containers:
      - name: vm
        image: virtlet.cloud/%s
        resources: {requests: {cpu: 10m}, limits: {memory: 64Mi}}
    """
        .formatted(node, image);
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    try (var cluster = BenchCluster.start(work)) {
      var vms = new ArrayList<List<Map<Part, Double>>>();
      var pods = new ArrayList<List<Map<Part, Double>>>();
      round(cluster, 0);
      var until = System.nanoTime() + ROUNDS_LIMIT.toNanos();
      for (var i = 1; i <= rounds && (i <= LEAST_ROUNDS || System.nanoTime() < until); i++) {
        var round = round(cluster, i);
        vms.add(round.vms);
        pods.add(round.pods);
      }
      counted = vms.size();
      var rows = new ArrayList<>(rows(vms, pods));
      rows.addAll(alone(cluster));
      rows.addAll(memory(cluster));
      return rows;
    }
  }

  private record Round(List<Map<Part, Double>> vms, List<Map<Part, Double>> pods) {}

  private static Round round(BenchCluster cluster, int number) throws Exception {
    var vms = new ApplyRound(cluster, "vm-" + number, MANY).run(vm(cluster.image()), "vm");
    cluster.clear();
    var pods = new ApplyRound(cluster, "pod-" + number, MANY).run(PLAIN, "main");
    cluster.clear();
    return new Round(vms, pods);
  }

  /** What is our own: how long it takes when nothing else is started. */
  private static List<Row> alone(BenchCluster cluster) throws Exception {
    var vms = new ArrayList<List<Map<Part, Double>>>();
    var pods = new ArrayList<List<Map<Part, Double>>>();
    for (var i = 0; i < ALONE; i++) {
      vms.add(new ApplyRound(cluster, "vm-alone-" + i, 1).run(vm(cluster.image()), "vm"));
      cluster.clear();
      pods.add(new ApplyRound(cluster, "pod-alone-" + i, 1).run(PLAIN, "main"));
      cluster.clear();
    }
    var total =
        row(
            "apply → first line, one at a time",
            median(vms, ApplyBenchmark::total),
            median(pods, ApplyBenchmark::total));
    return List.of(total, ours("launcher and disk, one at a time", vms));
  }

  /** What Platter's programs take while one node has many VMs. */
  private static List<Row> memory(BenchCluster cluster) throws Exception {
    var node = cluster.kube().node(1);
    new ApplyRound(cluster, "many", MOST_ON_A_NODE)
        .run(smallVm(cluster.image(), node.name()), "vm");
    Thread.sleep(SETTLED);
    var daemon = cluster.memory("dev.platter.cli.Main node", node).getFirst();
    var launchers = cluster.memory("/opt/platter/bin/launch", node);
    var controllers = new ArrayList<Double>();
    for (var each : cluster.kube().nodes()) {
      controllers.addAll(cluster.memory("dev.platter.cli.Main controller", each));
    }
    var controller = controllers.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    cluster.clear();
    return List.of(
        Row.of("memory of the daemon, " + MOST_ON_A_NODE + " VMs", daemon / MIB, 200, BOUND, "MiB"),
        Row.of("memory of a launcher", Contest.median(launchers) / MIB, 64, BOUND, "MiB"),
        Row.alone("memory of the controller", controller / MIB, "MiB"));
  }

  private static List<Row> rows(
      List<List<Map<Part, Double>>> vms, List<List<Map<Part, Double>>> pods) {
    var rows = new ArrayList<Row>();
    rows.add(
        row(
            "apply → first line",
            median(vms, ApplyBenchmark::total),
            median(pods, ApplyBenchmark::total)));
    rows.add(row("apply → first line of all " + MANY, last(vms), last(pods)));
    rows.add(row("API", median(vms, Part.API), median(pods, Part.API)));
    rows.add(row("scheduling", median(vms, Part.SCHEDULING), median(pods, Part.SCHEDULING)));
    rows.add(row("kubelet", median(vms, Part.KUBELET), median(pods, Part.KUBELET)));
    rows.add(row("launcher", median(vms, Part.LAUNCHER), median(pods, Part.LAUNCHER)));
    rows.add(Row.alone("disk", median(vms, Part.DISK), "ms"));
    rows.add(Row.alone("QEMU", median(vms, Part.QEMU), "ms"));
    rows.add(Row.alone("guest", median(vms, Part.GUEST), "ms"));
    rows.add(ours("launcher and disk", vms));
    return rows;
  }

  private static Row ours(String name, List<List<Map<Part, Double>>> vms) {
    var both =
        median(vms, one -> one.getOrDefault(Part.LAUNCHER, 0.0) + one.getOrDefault(Part.DISK, 0.0));
    return Row.of(name, both, 300, BOUND, "ms");
  }

  private static Row row(String name, double vm, double pod) {
    return Row.of(name, vm, pod, POD, "ms");
  }

  private static double total(Map<Part, Double> parts) {
    return parts.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  private static double median(List<List<Map<Part, Double>>> rounds, Part part) {
    return median(rounds, one -> one.getOrDefault(part, 0.0));
  }

  private static double median(
      List<List<Map<Part, Double>>> rounds, ToDoubleFunction<Map<Part, Double>> value) {
    return Contest.median(
        rounds.stream().flatMap(List::stream).map(one -> value.applyAsDouble(one)).toList());
  }

  private static double last(List<List<Map<Part, Double>>> rounds) {
    return Contest.median(
        rounds.stream()
            .map(round -> round.stream().mapToDouble(ApplyBenchmark::total).max().orElseThrow())
            .toList());
  }
}
