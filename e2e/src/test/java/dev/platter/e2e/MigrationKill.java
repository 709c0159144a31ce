package dev.platter.e2e;

import dev.platter.lab.KubeNode;
import java.time.Duration;
import java.util.stream.Collectors;

/** Who can die without warning while a VM moves. */
enum MigrationKill {
  SOURCE_DAEMON("source's daemon"),
  TARGET_DAEMON("target's daemon"),
  TARGET_QEMU("target's QEMU"),
  SOURCE_QEMU("source's QEMU"),
  TARGET_LAUNCHER("target's launcher"),
  SOURCE_LAUNCHER("source's launcher");

  private final String words;

  MigrationKill(String words) {
    this.words = words;
  }

  String words() {
    return words;
  }

  boolean ofDaemon() {
    return this == SOURCE_DAEMON || this == TARGET_DAEMON;
  }

  boolean ofSource() {
    return this == SOURCE_DAEMON || this == SOURCE_QEMU || this == SOURCE_LAUNCHER;
  }

  /**
   * @param pod of the VM on that node
   * @return false if there is nothing to kill, or not yet
   */
  boolean strike(PlatterCluster cluster, KubeNode node, String pod) {
    return switch (this) {
      case SOURCE_DAEMON, TARGET_DAEMON -> {
        var struck = Kill.DAEMON.strike(cluster, node, Duration.ZERO);
        // A new pod is started at once; a container that was killed waits longer each time.
        Kill.DAEMON_POD.strike(cluster, node, Duration.ZERO);
        yield struck;
      }
      case SOURCE_QEMU, TARGET_QEMU -> kill(cluster, node, pod, "qemu-system");
      case SOURCE_LAUNCHER, TARGET_LAUNCHER -> kill(cluster, node, pod, "-x launch");
    };
  }

  /** Of the processes of a pod those of this name. */
  static boolean kill(PlatterCluster cluster, KubeNode node, String pod, String name) {
    if (pod.isEmpty()) {
      return false;
    }
    var found = cluster.kube().tryKubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}");
    if (found.status() != 0) {
      return false;
    }
    var processes =
        PlatterCluster.processes(node, found.out(), name).lines().collect(Collectors.joining(" "));
    return !processes.isEmpty() && kill(node, processes);
  }

  /** False if they have ended meanwhile. */
  private static boolean kill(KubeNode node, String processes) {
    return node.exec("sh", "-c", "! kill -9 " + processes + " || echo killed").contains("killed");
  }
}
