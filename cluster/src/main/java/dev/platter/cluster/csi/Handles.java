package dev.platter.cluster.csi;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * By what a cluster knows volumes and snapshots of this node: the id in its store, and a mark of
 * the node. A sidecar that leads for the whole cluster may ask any node, which then knows that it
 * is not the one.
 */
public final class Handles {
  private static final Pattern HANDLE =
      Pattern.compile("(?<id>(?:vol|snap)-[0-9a-f]{32})\\.(?<node>[0-9a-f]{8})");

  private final String mark;

  Handles(String node) {
    try {
      var digest =
          MessageDigest.getInstance("SHA-256").digest(node.getBytes(StandardCharsets.UTF_8));
      this.mark = HexFormat.of().formatHex(digest, 0, 4);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  /** Whether the volume or snapshot is that node's, if there is one. */
  public static boolean isOn(String handle, String node) {
    return new Handles(node).id(handle).isPresent();
  }

  String of(String id) {
    return id + "." + mark;
  }

  /** Empty if nothing of this node has such a handle. */
  Optional<String> id(String handle) {
    var match = HANDLE.matcher(handle);
    return match.matches() && match.group("node").equals(mark)
        ? Optional.of(match.group("id"))
        : Optional.empty();
  }

  boolean isElsewhere(String handle) {
    var match = HANDLE.matcher(handle);
    return match.matches() && !match.group("node").equals(mark);
  }
}
