package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * A node of a {@link KubeCluster}. Its processes, network, {@code /run} and the state of kubelet,
 * containerd and Platter are its own; the rest of the file system is this machine's.
 */
public final class KubeNode {
  private final KubeCluster cluster;
  private final int number;

  KubeNode(KubeCluster cluster, int number) {
    this.cluster = cluster;
    this.number = number;
  }

  public String name() {
    return "node" + number;
  }

  /** Where other nodes, pods and this machine reach it. */
  public String address() {
    return "198.18.0.1" + number;
  }

  /** What a command printed that ran on the node; it must succeed. */
  public String exec(Object... command) {
    return cluster.lab(Stream.concat(Stream.of("exec", name()), Arrays.stream(command)).toArray());
  }

  /**
   * Where this machine finds what is at an absolute path on the node. What is mounted there is not
   * seen from outside.
   */
  public Path path(String inside) {
    try (Stream<String> own = Files.lines(cluster.directory().resolve("node-directories"))) {
      Path path = Path.of(inside).normalize();
      return own.anyMatch(path::startsWith)
          ? Path.of(cluster.directory().resolve(name()).resolve("root") + path.toString())
          : path;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Gives its containerd the images of an archive, Docker's or OCI's, with the names in there. */
  public void loadImage(Path archive) {
    cluster.lab("load", name(), archive);
  }

  /** Lets it pull images from a registry that speaks plain HTTP. */
  public void allowPlainHttp(String registry) {
    try {
      Path hosts = cluster.directory().resolve(name()).resolve("registries").resolve(registry);
      Files.createDirectories(hosts);
      Files.writeString(
          hosts.resolve("hosts.toml"),
          "[host.\"http://%s\"]\ncapabilities = [\"pull\", \"resolve\"]\n".formatted(registry));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** All its processes die at once, QEMU included; what is on its disk stays. */
  public void powerCut() {
    cluster.lab("cut", name());
  }

  /** Returns when its kubelet serves again. */
  public void boot() {
    cluster.lab("boot", name());
  }

  public void killKubelet() {
    cluster.lab("kill", name(), "kubelet");
  }

  public void startKubelet() {
    cluster.lab("start", name(), "kubelet");
  }

  /**
   * Without warning.
   *
   * @param daemon of those that the lab runs on the node beside Kubernetes, such as {@code
   *     csi-provisioner}
   * @return false if it was dead already
   */
  public boolean kill(String daemon) {
    return exec("sh", "-c", "kill -9 $(cat /run/lab/$0.pid) && echo killed || true", daemon)
        .contains("killed");
  }

  /** Of these daemons those that are dead. */
  public List<String> dead(List<String> daemons) {
    var script = "for d; do kill -0 $(cat /run/lab/$d.pid) 2>/dev/null || echo $d; done";
    var words = Stream.of("sh", "-c", script, "sh");
    return exec(Stream.concat(words, daemons.stream()).toArray()).lines().toList();
  }

  /** With the options that it was started with before. */
  public void startAgain(String daemon) {
    cluster.lab("start", name(), daemon);
  }

  /** Containers go on without it. */
  public void killContainerd() {
    cluster.lab("kill", name(), "containerd");
  }

  public void startContainerd() {
    cluster.lab("start", name(), "containerd");
  }
}
