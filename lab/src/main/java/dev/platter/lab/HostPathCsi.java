package dev.platter.lab;

import java.time.Duration;

/**
 * A CSI driver with snapshots that has nothing to do with Platter: csi-driver-host-path, on one
 * node of a {@link KubeCluster}. It makes volumes on demand, file systems and block devices, as
 * files of that node.
 */
public final class HostPathCsi implements AutoCloseable {
  /** Its storage classes: volumes are made at once, or when a pod wants them. */
  public static final String AT_ONCE = "hostpath";

  public static final String LATE = "hostpath-late";

  /** For the build. */
  private static final Duration START = Duration.ofMinutes(30);

  private final KubeCluster cluster;
  private final KubeNode node;

  private HostPathCsi(KubeCluster cluster, KubeNode node) {
    this.cluster = cluster;
    this.node = node;
  }

  public static HostPathCsi start(KubeCluster cluster, KubeNode node) {
    cluster.lab(START, "csi", node.name());
    return new HostPathCsi(cluster, node);
  }

  /** Fails if there is a volume, a snapshot or a loop device of it left. */
  @Override
  public void close() {
    cluster.lab("no-csi", node.name());
  }
}
