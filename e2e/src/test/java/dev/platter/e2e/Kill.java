package dev.platter.e2e;

import dev.platter.lab.KubeNode;
import java.time.Duration;

/** What can die without warning while guests run. */
enum Kill {
  DAEMON("node daemon") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      return kill(node, "pgrep -f '[d]ev.platter.cli.Main node --cluster'");
    }
  },
  DAEMON_POD("node daemon's pod, replaced") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      return replace(cluster, node, "platter-node");
    }
  },
  LIBVIRT("libvirt") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      return kill(node, "pgrep libvirtd");
    }
  },
  KUBELET("kubelet") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      node.killKubelet();
      pass(away);
      node.startKubelet();
      return true;
    }
  },
  CONTAINERD("containerd") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      node.killContainerd();
      pass(away);
      node.startContainerd();
      return true;
    }
  },
  CONTROLLER("controller") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      return kill(node, "pgrep -f '[d]ev.platter.cli.Main controller'");
    }
  },
  CONTROLLER_POD("controller's pod, replaced") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      return replace(cluster, node, "platter-controller");
    }
  },
  API_SERVER("API server") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      cluster.kube().killApiServer();
      pass(away);
      cluster.kube().startApiServer();
      return true;
    }
  },
  ETCD("etcd") {
    @Override
    boolean strike(PlatterCluster cluster, KubeNode node, Duration away) {
      cluster.kube().killEtcd();
      pass(away);
      cluster.kube().startEtcd();
      return true;
    }
  };

  private final String words;

  Kill(String words) {
    this.words = words;
  }

  String words() {
    return words;
  }

  /** False if the cluster has one of them, wherever it is. */
  boolean ofNode() {
    return this != API_SERVER && this != ETCD;
  }

  /**
   * @param away how long it stays so, if nobody but us starts it again
   * @return false if there was nothing to kill: what died before is not back yet
   */
  abstract boolean strike(PlatterCluster cluster, KubeNode node, Duration away);

  private static boolean kill(KubeNode node, String find) {
    return node.exec("sh", "-c", "! p=$(" + find + ") || { kill -9 $p && echo killed; }")
        .contains("killed");
  }

  /** A new pod is started at once; one whose process is killed waits longer each time. */
  private static boolean replace(PlatterCluster cluster, KubeNode node, String name) {
    return cluster
        .kube()
        .tryKubectl(
            "-n",
            "platter-system",
            "delete",
            "pod",
            "--wait=false",
            "-l",
            "app.kubernetes.io/name=" + name,
            "--field-selector",
            "spec.nodeName=" + node.name())
        .out()
        .contains("deleted");
  }

  private static void pass(Duration time) {
    try {
      Thread.sleep(time);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
