package dev.platter.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.KubeNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What containerd has written down on a node: the lines of a container with their times, which are
 * those that {@code kubectl logs --timestamps} shows, and when it had started the container.
 * Reading the files costs the node nothing while it is being measured.
 */
final class PodLogs {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** One line, or the beginning of one. */
  record Line(Instant at, String text) {
    /** As in {@code 2026-01-31T12:00:00.123456789Z stdout F text}. */
    static Line of(String written) {
      var words = written.split(" ", 4);
      return new Line(Instant.parse(words[0]), words.length > 3 ? words[3] : "");
    }
  }

  private PodLogs() {}

  /** What the first container of a pod has said; nothing while it has said nothing. */
  static List<Line> of(KubeNode node, String namespace, String pod, String container)
      throws IOException {
    var directory = directory(node, namespace + "_" + pod);
    if (directory.isEmpty()) {
      return List.of();
    }
    var file = directory.get().resolve(container).resolve("0.log");
    if (!Files.exists(file)) {
      return List.of();
    }
    // A guest may say anything.
    try (var lines = Files.readString(file, java.nio.charset.StandardCharsets.ISO_8859_1).lines()) {
      return lines.filter(line -> line.split(" ", 4).length > 2).map(Line::of).toList();
    }
  }

  private static Optional<Path> directory(KubeNode node, String prefix) throws IOException {
    try (Stream<Path> all = Files.list(node.path("/var/log/pods"))) {
      return all.filter(path -> path.getFileName().toString().startsWith(prefix)).findFirst();
    }
  }

  /** When containerd had started a container. Kubernetes itself shows no more than seconds. */
  static Instant started(KubeNode node, String container) throws IOException {
    var file =
        node.path(
            "/var/lib/containerd/io.containerd.grpc.v1.cri/containers/" + container + "/status");
    var nanos = JSON.readTree(file.toFile()).findValue("StartedAt").asLong();
    return Instant.ofEpochSecond(nanos / 1_000_000_000, nanos % 1_000_000_000);
  }
}
