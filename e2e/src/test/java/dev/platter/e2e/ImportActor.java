package dev.platter.e2e;

import dev.platter.lab.KubeNode;
import java.time.Duration;

/** Who can die without warning while an identity's disk is made or removed. */
enum ImportActor {
  DAEMON("node daemon"),
  LAUNCHER("pod's launcher"),
  KUBELET("kubelet"),
  CONTROLLER("controller"),
  DRIVER("driver"),
  PROVISIONER("driver's provisioner"),
  SNAPSHOTTER("driver's snapshotter"),
  SNAPSHOT_CONTROLLER("snapshot controller");

  private final String words;

  ImportActor(String words) {
    this.words = words;
  }

  String words() {
    return words;
  }

  /**
   * @param pod the one that the step is about, if it is about one
   * @param away how long a kubelet stays so
   * @return false if there was nothing to kill
   */
  boolean strike(PlatterCluster cluster, ImportStorage storage, String pod, Duration away) {
    var node = storage.node();
    return switch (this) {
      case DAEMON -> {
        var struck = Kill.DAEMON.strike(cluster, node, Duration.ZERO);
        if (struck) {
          // A new pod is started at once; a container that was killed waits longer each time.
          Kill.DAEMON_POD.strike(cluster, node, Duration.ZERO);
        }
        yield struck;
      }
      case LAUNCHER -> MigrationKill.kill(cluster, node, pod, "-x launch");
      case KUBELET -> Kill.KUBELET.strike(cluster, node, away);
      case CONTROLLER ->
          cluster.kube().nodes().stream()
              .map(each -> controller(cluster, each))
              .toList()
              .contains(true);
      case DRIVER, PROVISIONER, SNAPSHOTTER, SNAPSHOT_CONTROLLER -> storage.kill(this);
    };
  }

  private static boolean controller(PlatterCluster cluster, KubeNode node) {
    var struck = Kill.CONTROLLER.strike(cluster, node, Duration.ZERO);
    if (struck) {
      Kill.CONTROLLER_POD.strike(cluster, node, Duration.ZERO);
    }
    return struck;
  }
}
