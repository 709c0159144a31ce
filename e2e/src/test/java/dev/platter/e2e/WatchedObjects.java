package dev.platter.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.lab.KubeCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * All that {@code kubectl get --watch} tells of what identities are made of, since it was last
 * forgotten: each state that an object had is a line, {@code name|UID|state|node or time|deleted
 * at}.
 */
final class WatchedObjects implements AutoCloseable {
  private static final String LINE =
      "jsonpath={.metadata.name}|{.metadata.uid}|{.status.phase}{.status.ready}{.status.readyToUse}"
          + "|{.spec.nodeName}{.status.unusedSince}|{.metadata.deletionTimestamp}{\"\\n\"}";

  enum Kind {
    IDENTITIES("virtletvmidentities"),
    IMAGES("virtletvmimages"),
    PODS("pods"),
    CLAIMS("persistentvolumeclaims"),
    VOLUMES("persistentvolumes"),
    SNAPSHOTS("volumesnapshots"),
    CONTENTS("volumesnapshotcontents");

    private final String words;

    Kind(String words) {
      this.words = words;
    }
  }

  private final Map<Kind, List<String>> lines = new EnumMap<>(Kind.class);
  private final List<Process> watches = new CopyOnWriteArrayList<>();

  WatchedObjects(KubeCluster kube) {
    for (var kind : Kind.values()) {
      var said = new CopyOnWriteArrayList<String>();
      lines.put(kind, said);
      var process = kube.startKubectl("get", kind.words, "--watch", "-o", LINE);
      watches.add(process);
      Thread.ofPlatform().daemon().name("watch " + kind.words).start(() -> read(process, said));
    }
  }

  private static void read(Process process, List<String> said) {
    try (var out = process.inputReader(UTF_8)) {
      out.lines().forEach(said::add);
    } catch (UncheckedIOException | IOException e) {
      // It was ended while we read.
    }
  }

  /** For each of them kubectl has to be there: without it nothing is ever seen. */
  void check() {
    if (!watches.stream().allMatch(Process::isAlive)) {
      throw new AssertionError("a kubectl that watches has ended");
    }
  }

  void forget() {
    lines.values().forEach(List::clear);
  }

  Optional<String> find(Kind kind, Pattern pattern) {
    return lines.get(kind).stream().filter(line -> pattern.matcher(line).matches()).findFirst();
  }

  /** The objects of which there was such a line. */
  Set<String> uids(Kind kind, String pattern) {
    return lines.get(kind).stream()
        .filter(line -> line.matches(pattern))
        .map(line -> line.split("\\|", -1)[1])
        .collect(Collectors.toSet());
  }

  @Override
  public void close() {
    watches.forEach(Process::destroy);
  }
}
