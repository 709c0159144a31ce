package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KubeClusterTest {
  private static final String POD =
      """
      apiVersion: v1
      kind: Pod
      metadata: {name: on-%1$s, labels: {at: %1$s}}
      spec:
        nodeName: %1$s
        terminationGracePeriodSeconds: 1
        containers:
        - name: main
          image: lab.local/busybox:1
          command: [sh, -c, "echo I am on %1$s; echo %1$s >/tmp/index.html; exec httpd -f -p 80 -h /tmp"]
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: on-%1$s}
      spec:
        selector: {at: %1$s}
        ports: [{port: 8080, targetPort: 80}]
      ---
      """;

  @Test
  void podsOfTwoNodesTalkAndLiveThroughOutagesAndNothingOfThemStaysBehind() throws Exception {
    List<String> before = machine();
    try (KubeCluster cluster = KubeCluster.start(2)) {
      cluster.kubectlReading(POD.formatted("node1") + POD.formatted("node2"), "apply", "-f", "-");
      awaitReady(cluster);
      assertThat(cluster.kubectl("logs", "on-node1")).isEqualTo("I am on node1\n");
      assertThat(cluster.kubectl("logs", "on-node2")).isEqualTo("I am on node2\n");

      assertThat(get(cluster, 1, field(cluster, "pod/on-node2", "{.status.podIP}"), 80))
          .contains("node2");
      assertThat(get(cluster, 2, field(cluster, "service/on-node1", "{.spec.clusterIP}"), 8080))
          .contains("node1");
      assertThatThrownBy(() -> cluster.node(1).exec("ip", "route", "get", "192.0.2.1"))
          .hasMessageContaining("unreachable");

      serversAreKilledAndStartedAgain(cluster);
      aNodeLosesItsPower(cluster);
    }
    assertThat(machine()).isEqualTo(before);
  }

  @Test
  void aClusterWhoseOwnerIsKilledEndsByItself(@TempDir Path dir) throws Exception {
    List<String> before = machine();
    Process owner = new ProcessBuilder("sleep", "3600").start();
    Shell.shell()
        .within(Duration.ofMinutes(60))
        .with("PLATTER_LAB", dir.resolve("lab").toString())
        .with("PLATTER_LAB_OWNER", Long.toString(owner.pid()))
        .check(Guest.root().resolve("lab/kube/lab"), "up", 1);
    assertThat(machine()).isNotEqualTo(before);

    owner.destroyForcibly().waitFor();
    for (int i = 0; i < 600 && !machine().equals(before); i++) {
      Thread.sleep(Duration.ofMillis(100));
    }
    assertThat(machine()).isEqualTo(before);
  }

  private static void serversAreKilledAndStartedAgain(KubeCluster cluster) {
    cluster.killApiServer();
    assertThat(cluster.tryKubectl("get", "pods").status()).isNotZero();
    cluster.startApiServer();
    KubeNode node = cluster.node(1);
    node.killKubelet();
    node.killContainerd();
    assertThatThrownBy(() -> node.exec("ctr", "version")).hasMessageContaining("refused");
    node.startContainerd();
    node.startKubelet();
    awaitReady(cluster);
    assertThat(restarts(cluster, 1)).isEqualTo("0");
  }

  private static void aNodeLosesItsPower(KubeCluster cluster) throws IOException {
    KubeNode node = cluster.node(2);
    node.exec("sh", "-c", "sleep 271828 >/dev/null 2>&1 & echo disk >/var/lib/platter/mark");
    node.exec("sh", "-c", "truncate -s 1M /var/lib/platter/img && losetup -f /var/lib/platter/img");
    node.exec("sh", "-c", "echo memory >/run/mark");
    assertThat(commands()).anyMatch(command -> command.startsWith("sleep 271828"));
    assertThat(node.path("/run/mark")).hasContent("memory\n");

    node.powerCut();
    assertThat(commands()).noneMatch(command -> command.startsWith("sleep 271828"));
    assertThatThrownBy(() -> node.exec("true")).hasMessageContaining("node2 is off");

    node.boot();
    assertThat(node.path("/run/mark")).doesNotExist();
    assertThat(node.path("/var/lib/platter/mark")).hasContent("disk\n");
    cluster.kubectl(
        "wait",
        "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        "--timeout=60s",
        "pod/on-node2");
    awaitReady(cluster);
    assertThat(restarts(cluster, 1)).isEqualTo("0");
  }

  private static void awaitReady(KubeCluster cluster) {
    cluster.kubectl(
        "wait", "--for=condition=Ready", "--timeout=60s", "pod/on-node1", "pod/on-node2");
  }

  private static String restarts(KubeCluster cluster, int node) {
    return field(cluster, "pod/on-node" + node, "{.status.containerStatuses[0].restartCount}");
  }

  private static String field(KubeCluster cluster, String object, String path) {
    return cluster.kubectl("get", object, "-o", "jsonpath=" + path);
  }

  /** What a pod gets by HTTP; busybox's own wget does not live long when linked statically. */
  private static String get(KubeCluster cluster, int node, String host, int port) {
    String request = "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 %s %d".formatted(host, port);
    return cluster.kubectl("exec", "on-node" + node, "--", "sh", "-c", request);
  }

  /** All of this machine that a cluster touches. */
  private static List<String> machine() throws IOException {
    List<String> all = new ArrayList<>();
    all.addAll(Shell.run("ip", "-oneline", "link").lines().toList());
    all.addAll(Shell.run("ip", "route").lines().toList());
    all.addAll(Shell.run("losetup", "--list").lines().toList());
    all.addAll(Files.readAllLines(Path.of("/proc/mounts")));
    all.addAll(
        Shell.run(
                "sh",
                "-c",
                "ls -d /sys/fs/cgroup/platter-node* /sys/fs/cgroup/*/platter-node* || true")
            .lines()
            .toList());
    for (String directory :
        List.of(
            "/run/platter-lab", "/var/lib/kubelet", "/var/lib/cni", "/usr/libexec/kubernetes")) {
      all.add(directory + " " + Files.exists(Path.of(directory)));
    }
    processes("environ").filter(words -> words.contains("PLATTER_LAB=")).forEach(all::add);
    return all;
  }

  private static Stream<String> commands() {
    return processes("cmdline");
  }

  private static Stream<String> processes(String file) {
    return ProcessHandle.allProcesses()
        .map(process -> Path.of("/proc", Long.toString(process.pid()), file))
        .map(KubeClusterTest::words);
  }

  private static String words(Path file) {
    try {
      return Files.readString(file).replace('\0', ' ');
    } catch (IOException e) {
      return ""; // it has ended
    }
  }
}
