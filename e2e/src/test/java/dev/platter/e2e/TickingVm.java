package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A VM on the first node whose guest counts seconds on its console. What it is to outlive it
 * outlives with the same process, and with every number in {@code kubectl logs} once.
 */
final class TickingVm {
  /** The first numbers share their lines with what the guest says while it boots. */
  private static final int BOOTED = 3;

  private final PlatterCluster cluster;
  private final String name;
  private final KubeNode node;
  private final String qemu;

  /** Returns when it ticks. */
  TickingVm(PlatterCluster cluster, String name) {
    this.cluster = cluster;
    this.name = name;
    this.node = cluster.kube().node(1);
    cluster.apply(
        """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: %s}
        spec:
          nodeSelector: {kubernetes.io/hostname: node1}
          cloudInit:
            userData: |
              #cloud-config
              #marker: sh -c 'n=0; while :; do n=$((n+1)); echo "tick $n" >/dev/ttyS0; sleep 1; done' &
          domain:
            memory: {guest: 96Mi}
            devices:
              disks:
              - type: ContainerRegistryDisk:v1alpha
                source: {name: "%s"}
                target: {device: sda}
        """
            .formatted(name, cluster.marker()));
    cluster.awaitLog(name, "^tick " + BOOTED + "\\b");
    this.qemu = cluster.qemu(node, "default", name);
  }

  KubeNode node() {
    return node;
  }

  /** Some more ticks. */
  void goesOn() {
    var before = ticks();
    cluster.await(
        "no more ticks after " + before,
        () -> Long.toString(ticks()),
        now -> Long.parseLong(now) >= before + 4);
  }

  private long ticks() {
    return cluster
        .kube()
        .tryKubectl("logs", name)
        .out()
        .lines()
        .filter(line -> line.startsWith("tick "))
        .count();
  }

  void hasMissedNothing() {
    assertThat(cluster.qemu(node, "default", name)).isEqualTo(qemu);
    assertThat(cluster.kubectl("get", "pod", name)).containsPattern("1/1 +Running +0 ");
    var ticks =
        Pattern.compile("tick (\\d+)")
            .matcher(cluster.kubectl("logs", name))
            .results()
            .map(tick -> Integer.valueOf(tick.group(1)))
            .filter(number -> number > BOOTED)
            .toList();
    assertThat(ticks)
        .isEqualTo(IntStream.rangeClosed(BOOTED + 1, BOOTED + ticks.size()).boxed().toList());
  }
}
