package dev.platter.cli;

import dev.platter.cluster.KubeClient;
import dev.platter.cluster.node.NodeAgent;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.NodeConfig;
import dev.platter.node.image.ImageDaemon;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/** The daemon as a node of a cluster; apart, so that other commands do not load its client. */
final class ClusterDaemon {
  private static final Path CGROUPS = Path.of("/sys/fs/cgroup");

  private static final int METRICS_PORT = 8687;
  private static final int MOVES_PORT = 8688;

  private ClusterDaemon() {}

  static void run(NodeConfig config, ImageDaemon.Options images, Consumer<String> log)
      throws IOException, InterruptedException {
    try (var client = KubeClient.open()) {
      var options =
          new NodeAgent.Options(
              required("NODE_NAME"),
              required("POD_NAMESPACE"),
              Path.of(System.getenv().getOrDefault("PLATTER_KUBELET_ROOT", "/var/lib/kubelet")),
              CGROUPS,
              new InetSocketAddress(METRICS_PORT),
              new InetSocketAddress(MOVES_PORT),
              images);
      var agent = new NodeAgent(config, options, client, log);
      var ended = new CountDownLatch(1);
      Runtime.getRuntime()
          .addShutdownHook(
              new Thread(
                  () -> {
                    agent.stop();
                    await(ended);
                  },
                  "end"));
      try {
        agent.run();
      } finally {
        ended.countDown();
      }
    }
  }

  private static void await(CountDownLatch ended) {
    try {
      ended.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String required(String name) {
    var value = System.getenv(name);
    if (value == null || value.isEmpty()) {
      throw PlatterException.of(
          Code.INVALID, "$" + name + " is not set", "'platter install' sets it.");
    }
    return value;
  }
}
