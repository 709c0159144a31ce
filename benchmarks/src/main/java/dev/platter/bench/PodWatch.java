package dev.platter.bench;

import dev.platter.lab.KubeCluster;
import java.io.IOException;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** When the pods of the default namespace came to be and were given a node, as a watch saw it. */
final class PodWatch implements AutoCloseable {
  /**
   * @param node where it was bound to, at {@code bound}
   */
  record Seen(String uid, Instant made, String node, Instant bound) {
    private static final String NOWHERE = "<none>";

    Seen at(String newNode, Instant now) {
      return node.equals(NOWHERE) && !newNode.equals(NOWHERE)
          ? new Seen(uid, made, newNode, now)
          : this;
    }

    boolean isBound() {
      return !node.equals(NOWHERE);
    }
  }

  private final Process kubectl;
  private final Map<String, Seen> pods = new ConcurrentHashMap<>();

  private PodWatch(Process kubectl) {
    this.kubectl = kubectl;
  }

  static PodWatch start(KubeCluster kube) {
    var watch =
        new PodWatch(
            kube.startKubectl(
                "get",
                "pods",
                "--watch",
                "--no-headers",
                "--output=custom-columns=N:.metadata.name,U:.metadata.uid,H:.spec.nodeName"));
    Thread.ofPlatform().daemon().start(watch::read);
    return watch;
  }

  private void read() {
    try (var lines = kubectl.inputReader()) {
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        var now = Instant.now();
        var words = line.strip().split(" +", -1);
        var first = new Seen(words[1], now, words[2], now);
        pods.merge(words[0], first, (known, _) -> known.at(words[2], now));
      }
    } catch (IOException e) {
      // It was destroyed.
    }
  }

  /** By name. Names must not come twice. */
  Map<String, Seen> pods() {
    return Map.copyOf(pods);
  }

  @Override
  public void close() {
    kubectl.destroy();
  }
}
