package dev.platter.lab;

import java.time.Duration;
import java.util.stream.Stream;

/**
 * What a CSI driver that runs in pods needs of a {@link KubeCluster}: the kinds of snapshots, their
 * controller, and the images of the sidecars that are beside the driver.
 */
public final class CsiSidecars implements AutoCloseable {
  /** Where the images are, as {@code platter install --sidecars} wants it. */
  public static final String IMAGES = "lab.local";

  /** For the build. */
  private static final Duration START = Duration.ofMinutes(30);

  private final KubeCluster cluster;

  private CsiSidecars(KubeCluster cluster) {
    this.cluster = cluster;
  }

  public static CsiSidecars start(KubeCluster cluster) {
    var nodes = cluster.nodes().stream().map(KubeNode::name);
    cluster.lab(START, Stream.concat(Stream.of("sidecars"), nodes).toArray());
    return new CsiSidecars(cluster);
  }

  /** Their volumes and snapshots have to be gone. */
  @Override
  public void close() {
    cluster.lab("no-sidecars", cluster.node(1).name());
  }
}
