package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.Node;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * What a node says of itself to those who fetch disks from it, as an annotation of its Node object.
 * That is as good as a certificate of an authority would be: the API server lets a node's daemon
 * and its kubelet change this object, and no other node's.
 */
record MovesNote(int port, String fingerprint) {
  private static final Pattern TEXT = Pattern.compile("([0-9]{1,5}) (sha256:[0-9a-f]{64})");

  static Optional<MovesNote> of(Node node) {
    var annotations = node.getMetadata().getAnnotations();
    var match = TEXT.matcher(annotations == null ? "" : annotations.getOrDefault(Names.MOVES, ""));
    return match.matches()
        ? Optional.of(new MovesNote(Integer.parseInt(match.group(1)), match.group(2)))
        : Optional.empty();
  }

  boolean isOf(String shown) {
    return fingerprint.equals(shown);
  }

  @Override
  public String toString() {
    return port + " " + fingerprint;
  }
}
