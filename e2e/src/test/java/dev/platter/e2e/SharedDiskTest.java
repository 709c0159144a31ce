package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One disk on a server that all nodes reach, which knows nothing of access modes. */
class SharedDiskTest {
  @AutoClose static final PlatterCluster CLUSTER = PlatterCluster.start();

  private Process server;
  private int port;

  @BeforeEach
  void serve() throws IOException {
    Path disk = CLUSTER.work().resolve("shared.raw");
    Shell.run("truncate", "-s", "16M", disk);
    var address = CLUSTER.kube().outside();
    try (var free = new ServerSocket(0, 1, InetAddress.getByName(address))) {
      port = free.getLocalPort();
    }
    server =
        new ProcessBuilder(
                "nbdkit",
                "--foreground",
                "--exit-with-parent",
                "--threads=1", // or it may abort when a QEMU is killed that it is sending to
                "--ipaddr=" + address,
                "--port=" + port,
                "file",
                disk.toString())
            .inheritIO()
            .start();
  }

  @AfterEach
  void end() {
    server.destroy();
  }

  private String vm(String name, String node) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: %s}
    spec:
      nodeSelector: {kubernetes.io/hostname: %s}
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - name: root
            source: {image: "%s"}
            copy: {mode: copy-on-write}
          - name: data
            source: {nbd: {host: {name: %s, port: %d}}}
            access-mode: write-exclusive
    """
        .formatted(name, node, CLUSTER.marker(), CLUSTER.kube().outside(), port);
  }

  @Test
  void itIsNotTakenOverUntilTheLostNodeIsSaidToBeOut() {
    CLUSTER.apply(vm("one", "node1"));
    assertThat(CLUSTER.awaitLog("one", "^@@READY")).contains("serial=data");
    assertThat(CLUSTER.kubectl("-n", "platter-system", "get", "leases"))
        .containsPattern("disk-\\S+ +default/one@node1");

    CLUSTER.apply(vm("two", "node2"));
    refused();
    CLUSTER.kube().node(1).powerCut();
    restart();
    refused();

    CLUSTER.kubectl("delete", "node", "node1");
    restart();
    CLUSTER.awaitLog("two", "^@@READY");
    assertThat(CLUSTER.kubectl("-n", "platter-system", "get", "leases"))
        .containsPattern("disk-\\S+ +default/two@node2");
  }

  private static void refused() {
    CLUSTER.await(
        "two was not refused",
        () -> CLUSTER.kubectl("get", "vm", "two", "-o", "jsonpath={.status.conditions}"),
        text -> text.contains("in use by the VM default/one on node node1"));
  }

  /**
   * It would start by itself, after a while. As long as the cluster has not noticed that node1 is
   * off, the API server also asks the webhook there, so a user may have to try again.
   */
  private void restart() {
    CLUSTER.kubectl("delete", "vm", "two", "--timeout=60s");
    CLUSTER.await("two cannot be applied", this::tryTwo, String::isEmpty);
  }

  private String tryTwo() {
    try {
      CLUSTER.apply(vm("two", "node2"));
      return "";
    } catch (AssertionError e) {
      assertThat(e).hasMessageContaining("failed to call webhook");
      return String.valueOf(e.getMessage());
    }
  }
}
