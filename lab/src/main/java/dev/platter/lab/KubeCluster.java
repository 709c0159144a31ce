package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real Kubernetes on this machine: control plane and nodes, each in namespaces of its own ({@code
 * lab/kube} says how). There is one at a time on a machine, others wait for it to end. Needs root.
 *
 * <p>It takes some ten seconds to start, so tests share one: they use namespaces of their own,
 * delete them, and switch on again what they switched off. Should this JVM be killed, the cluster
 * ends by itself. The very first start on a machine builds Kubernetes.
 */
public final class KubeCluster implements AutoCloseable {
  /** For the build, and for another cluster to end. */
  private static final Duration START = Duration.ofMinutes(60);

  private static final Duration LIMIT = Duration.ofMinutes(3);
  private static final int SHARED_NODES = 2;
  private static @Nullable KubeCluster shared;

  private final Path directory;
  private final List<KubeNode> nodes;

  private KubeCluster(Path directory, int nodes) {
    this.directory = directory;
    this.nodes =
        IntStream.rangeClosed(1, nodes).mapToObj(number -> new KubeNode(this, number)).toList();
  }

  public static KubeCluster start(int nodes) {
    try {
      var cluster = new KubeCluster(Files.createTempDirectory("kube"), nodes);
      cluster.run(START, "up", nodes);
      return cluster;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * The one of this JVM, with two nodes, started when first asked for; it ends with the JVM. Do not
   * close it.
   */
  public static synchronized KubeCluster shared() {
    if (shared == null) {
      KubeCluster cluster = start(SHARED_NODES);
      Runtime.getRuntime().addShutdownHook(new Thread(cluster::close));
      shared = cluster;
    }
    return shared;
  }

  /** Of the administrator. */
  public Path kubeconfig() {
    return directory.resolve("admin.kubeconfig");
  }

  /** This machine's address as nodes and pods know it: for servers that tests run. */
  public String outside() {
    return "198.18.0.1";
  }

  /** Counted from 1. */
  public KubeNode node(int number) {
    return nodes.get(number - 1);
  }

  public List<KubeNode> nodes() {
    return nodes;
  }

  /** What kubectl printed, as administrator; it must succeed. */
  public String kubectl(Object... words) {
    return lab(prepend("kubectl", words));
  }

  /** The same with something to read, for {@code -f -}. */
  public String kubectlReading(String input, Object... words) {
    try {
      Path file = Files.writeString(Files.createTempFile("kubectl", ".in"), input);
      try {
        return command(LIMIT)
            .reading(file)
            .check(prepend(script(), prepend("kubectl", words)))
            .out();
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What kubectl answered where a refusal may be what the test is about. */
  public Shell.Result tryKubectl(Object... words) {
    return command(LIMIT).execute(prepend(script(), prepend("kubectl", words)));
  }

  /** A kubectl that goes on, such as {@code get --watch}, until the caller destroys it. */
  public Process startKubectl(Object... words) {
    return command(LIMIT).start(prepend(script(), prepend("kubectl", words)));
  }

  /** Without warning, as the kernel would for want of memory. */
  public void killApiServer() {
    lab("kill", "control", "kube-apiserver");
  }

  /** Returns when it is ready. */
  public void startApiServer() {
    lab("start", "control", "kube-apiserver");
  }

  public void killEtcd() {
    lab("kill", "control", "etcd");
  }

  /** The API server is ready again soon after. */
  public void startEtcd() {
    lab("start", "control", "etcd");
  }

  /** Cuts the power of all its machines and removes every trace of them. */
  @Override
  public void close() {
    lab("down");
  }

  String lab(Object... words) {
    return run(LIMIT, words);
  }

  String lab(Duration limit, Object... words) {
    return run(limit, words);
  }

  private Shell command(Duration limit) {
    return Shell.shell()
        .within(limit)
        .with("PLATTER_LAB", directory.toString())
        .with("PLATTER_LAB_OWNER", Long.toString(ProcessHandle.current().pid()));
  }

  Path directory() {
    return directory;
  }

  private static Path script() {
    return Guest.root().resolve("lab/kube/lab");
  }

  private String run(Duration limit, Object... words) {
    return command(limit).check(prepend(script(), words)).out();
  }

  private static Object[] prepend(Object first, Object... rest) {
    return Stream.concat(Stream.of(first), Arrays.stream(rest)).toArray();
  }
}
