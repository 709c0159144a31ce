package dev.platter.bench;

import dev.platter.lab.InstalledPlatter;
import dev.platter.lab.KubeCluster;
import dev.platter.lab.KubeNode;
import dev.platter.lab.PlatterImage;
import dev.platter.lab.Registry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Two nodes with Platter, installed as a user would do it, and a registry with a small guest. */
final class BenchCluster implements AutoCloseable {
  private static final String NAMESPACE = InstalledPlatter.NAMESPACE;
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final KubeCluster kube;
  private final Registry registry;
  private String digest = "";

  private BenchCluster(KubeCluster kube, Registry registry) {
    this.kube = kube;
    this.registry = registry;
  }

  /**
   * @param work for files
   */
  static BenchCluster start(Path work) throws Exception {
    var archive = PlatterImage.archive();
    var kube = KubeCluster.start(2);
    try {
      var cluster = new BenchCluster(kube, Registry.start(kube.outside()));
      try {
        cluster.install(work, archive);
        return cluster;
      } catch (Exception | Error e) {
        cluster.registry.close();
        throw e;
      }
    } catch (Exception | Error e) {
      kube.close();
      throw e;
    }
  }

  private void install(Path work, Path archive) throws Exception {
    var disk = OneLineGuest.write(work.resolve("guest.raw"));
    digest = PushedImage.seekable(work, registry.address(), "guest", disk, null).digest();
    for (var node : kube.nodes()) {
      node.loadImage(archive);
    }
    var platter = new InstalledPlatter(kube);
    platter.configure(
        Files.writeString(work.resolve("registries.conf"), InstalledPlatter.insecure(registry)));
    platter.install();
    for (var pod : kube.kubectl(list("app.kubernetes.io/name=platter-node")).lines().toList()) {
      kube.kubectl("-n", NAMESPACE, "exec", pod, "--", "/opt/platter/bin/platter", "pull", image());
    }
  }

  private static Object[] list(String label) {
    return new Object[] {"-n", NAMESPACE, "get", "pods", "-l", label, "-o", "name"};
  }

  KubeCluster kube() {
    return kube;
  }

  /** A reference to the small guest. */
  String image() {
    return registry.address() + "/disks/guest:1";
  }

  /** The same, as an identity names it. */
  String imageByDigest() {
    return registry.address() + "/disks/guest@" + digest;
  }

  void apply(String yaml) {
    kube.kubectlReading(yaml, "apply", "-f", "-");
  }

  /** Deletes all that was applied, and returns when the nodes have nothing left of it. */
  void clear() throws Exception {
    kube.kubectl("delete", "vm,pods", "--all", "--timeout=120s");
    var until = System.nanoTime() + PATIENCE.toNanos();
    for (var node : kube.nodes()) {
      while (!left(node).isEmpty()) {
        if (System.nanoTime() > until) {
          throw new IllegalStateException("left on " + node.name() + ": " + left(node));
        }
        Thread.sleep(200);
      }
    }
  }

  /** Returns when the nodes have removed the disks of identities, which outlive these a little. */
  void awaitNoVolumes() throws Exception {
    var until = System.nanoTime() + PATIENCE.toNanos();
    for (var node : kube.nodes()) {
      while (!node.exec("ls", "-A", "/var/lib/platter/pools/volumes").isBlank()) {
        if (System.nanoTime() > until) {
          throw new IllegalStateException("disks are left on " + node.name());
        }
        Thread.sleep(200);
      }
    }
  }

  /** The resident sets, in KiB, of the processes on a node that have this in their command line. */
  List<Double> memory(String command, KubeNode node) {
    // The brackets keep it from finding the shell that looks.
    var pattern = "[" + command.charAt(0) + "]" + command.substring(1);
    return node.exec(
            "sh",
            "-c",
            "for pid in $(pgrep -f '"
                + pattern
                + "'); do awk '/VmRSS/{print $2}' /proc/$pid/status; done")
        .lines()
        .map(Double::parseDouble)
        .toList();
  }

  private static String left(KubeNode node) {
    return node.exec("sh", "-c", "ls /var/lib/platter/owners; pgrep -x qemu-system-x86 || true")
        .strip();
  }

  @Override
  public void close() {
    try {
      kube.close();
    } finally {
      registry.close();
      InstalledPlatter.removeCgroups();
    }
  }
}
