package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.node.LocalNode;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.node.image.ImageDaemon;
import dev.platter.plan.StateLayout;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class NodeAgentTest {
  @TempDir Path work;

  /** It would be started again, but guests whose images it serves wait, longer each time. */
  @Test
  void itDoesNotEndBecauseThereIsNoApiServer() throws Exception {
    int nobody;
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      nobody = free.getLocalPort();
    }
    var config =
        new ConfigBuilder(Config.empty())
            .withMasterUrl("http://127.0.0.1:" + nobody)
            .withRequestRetryBackoffLimit(0)
            .build();
    var said = new LinkedBlockingQueue<String>();
    try (var client = new KubernetesClientBuilder().withConfig(config).build();
        var threads = Executors.newSingleThreadExecutor()) {
      var agent = new NodeAgent(node(), options(0), client, said::add);
      var run =
          threads.submit(
              () -> {
                agent.run();
                return "ended as it was told to";
              });
      String line;
      do {
        line = said.poll(30, TimeUnit.SECONDS);
        assertThat(line).isNotNull();
      } while (!line.startsWith("waits for the API server"));
      assertThat(run.isDone()).isFalse();
      agent.stop();
      assertThat(run.get(30, TimeUnit.SECONDS)).isEqualTo("ended as it was told to");
    }
  }

  /** As the daemon of one machine does; it needs no API server for that either. */
  @Test
  void itRemovesUnusedImagesWhereTheyTakeMoreThanTheyMay() throws Exception {
    var disk = work.resolve("disk.raw");
    Shell.run("sh", "-c", "head -c 2097152 /dev/urandom > " + disk);
    new OciLayoutWriter(work.resolve("layout")).add("t", Platform.LINUX_AMD64, "disk.raw", disk);
    String digest;
    try (var node = LocalNode.open(node(), Progress.NONE)) {
      digest = node.pull("oci:" + work.resolve("layout") + ":t");
    }
    var image = node().layout().image(digest);
    assertThat(image).isDirectory();
    var config =
        new ConfigBuilder(Config.empty())
            .withMasterUrl("http://127.0.0.1:1")
            .withRequestRetryBackoffLimit(0)
            .build();
    try (var client = new KubernetesClientBuilder().withConfig(config).build();
        var threads = Executors.newSingleThreadExecutor()) {
      var agent = new NodeAgent(node(), options(1 << 20), client, _ -> {});
      var run =
          threads.submit(
              () -> {
                agent.run();
                return "ended";
              });
      try {
        await().atMost(Duration.ofSeconds(60)).until(() -> !Files.exists(image));
      } finally {
        agent.stop();
      }
      assertThat(run.get(30, TimeUnit.SECONDS)).isEqualTo("ended");
    }
  }

  private NodeConfig node() {
    return new NodeConfig(
        new StateLayout(work.resolve("state"), work.resolve("run")),
        Optional.of("test:///default"),
        Optional.empty());
  }

  private NodeAgent.Options options(long limit) {
    return new NodeAgent.Options(
        "node1",
        "platter-system",
        work.resolve("kubelet"),
        work.resolve("cgroups"),
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        new ImageDaemon.Options(
            Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(1), 0, limit));
  }
}
