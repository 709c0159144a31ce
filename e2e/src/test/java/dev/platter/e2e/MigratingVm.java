package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A VM that writes while it is moved from node to node. Afterwards its disk must have all that its
 * consoles said: a second guest, or one that went back in time, would have left records that are
 * not there.
 */
final class MigratingVm implements AutoCloseable {
  private static final int MORE_RECORDS = 5;
  private static final int MS_BETWEEN_RECORDS = 100;

  private final PlatterCluster cluster;
  private final String name;
  private final WriterVm.Disk disk;
  private final Consoles consoles;
  private int migrations;

  /** Returns when it writes. */
  MigratingVm(PlatterCluster cluster, String name, WriterVm.Disk disk) {
    this.cluster = cluster;
    this.name = name;
    this.disk = disk;
    this.consoles = new Consoles(cluster.kube().nodes());
    cluster.apply(on(cluster.kube().node(1)).yaml(cluster.marker(), MS_BETWEEN_RECORDS));
    goesOn();
  }

  private WriterVm on(KubeNode node) {
    return new WriterVm(name, node, disk);
  }

  /** It has written some more. */
  void goesOn() {
    consoles.catchUp();
    var goal = consoles.of(name).size() + MORE_RECORDS;
    cluster.await(
        name + " does not write",
        () -> {
          consoles.catchUp();
          return Integer.toString(consoles.of(name).size());
        },
        count -> Integer.parseInt(count) >= goal);
  }

  /** Asks for it, and returns what that is called. */
  String moveTo(KubeNode node) {
    var migration = name + "-" + migrations++;
    cluster.apply(
        """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachineMigration
        metadata: {name: %s}
        spec: {vm: %s, node: %s}
        """
            .formatted(migration, name, node.name()));
    return migration;
  }

  String get(String migration, String path) {
    return cluster
        .kube()
        .tryKubectl("get", "vmm", migration, "-o", "jsonpath={" + path + "}")
        .out();
  }

  void awaitPhase(String migration, String pattern) {
    cluster.await(
        migration + " is not " + pattern,
        () -> get(migration, ".status"),
        status -> status.matches("(?s).*\"phase\":\"(" + pattern + ")\".*"));
  }

  /** The node that the cluster says it is on. */
  KubeNode node() {
    var found = cluster.kubectl("get", "vm", name, "-o", "jsonpath={.status.nodeName}");
    return cluster.kube().nodes().stream()
        .filter(node -> node.name().equals(found))
        .findFirst()
        .orElseThrow();
  }

  /** The one that it is in. */
  String pod() {
    var moved = cluster.kubectl("get", "vm", name, "-o", "jsonpath={.status.podName}");
    return moved.isEmpty() ? name : moved;
  }

  /** Of a pod; empty if it is gone. */
  String uid(String pod) {
    return cluster.kube().tryKubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}").out();
  }

  void awaitGone(String uid) {
    await(
        "a pod does not end",
        () -> cluster.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.uid}"),
        all -> !all.contains(uid));
  }

  KubeNode otherNode() {
    var here = node();
    return cluster.kube().nodes().stream()
        .filter(node -> !node.name().equals(here.name()))
        .findFirst()
        .orElseThrow();
  }

  /** One QEMU, where the cluster says; nothing of it elsewhere, and no second pod. */
  void isInOnePlace() {
    var there = otherNode();
    await("left on " + there.name(), () -> left(there), String::isEmpty);
    assertThat(node().exec("pgrep", "-c", "qemu-system").strip()).isEqualTo("1");
    await(
        "not one pod",
        () -> cluster.kubectl("get", "pods", "-o", "name").strip(),
        pods -> pods.lines().count() == 1);
  }

  /** The nodes of the lab see each other's cgroups. */
  private String left(KubeNode node) {
    return cluster
        .leftOn(node)
        .lines()
        .filter(line -> !line.startsWith("/sys/fs/cgroup/"))
        .collect(Collectors.joining("\n"));
  }

  private void await(String otherwise, Supplier<String> look, Predicate<String> good) {
    cluster.await(otherwise, look, good);
  }

  /** Stops it and looks at its disk. */
  List<String> faults() {
    var last = node();
    cluster.kubectl("patch", "vm", name, "--type=merge", "-p", "{\"spec\":{\"running\":false}}");
    cluster.await(
        "it does not stop",
        () -> cluster.kubectl("get", "vm", name, "-o", "jsonpath={.status.phase}"),
        "Stopped"::equals);
    consoles.catchUp();
    var answered = consoles.of(name).stream().map(Consoles.Said::written).toList();
    var faults =
        new ArrayList<>(DiskOracle.faults(name, on(last).recorded(cluster.work()), answered));
    faults.addAll(consoles.errors());
    return faults;
  }

  /** As far as its consoles told: another one for each time that the guest was started. */
  List<String> boots() {
    consoles.catchUp();
    return consoles.of(name).stream().map(one -> one.written().boot()).distinct().toList();
  }

  @Override
  public void close() {
    consoles.close();
    cluster.kubectl("delete", "vm", name, "--timeout=90s");
    for (var node : cluster.kube().nodes()) {
      await("left on " + node.name(), () -> cluster.leftOn(node), String::isEmpty);
    }
  }
}
