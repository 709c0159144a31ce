package dev.platter.node.volumes;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** How volumes and snapshots are called; their files have these names. */
final class Ids {
  private Ids() {}

  /** The same for the same name, so a call that is repeated finds what the first one made. */
  static String of(String kind, String name) {
    try {
      var digest =
          MessageDigest.getInstance("SHA-256").digest(name.getBytes(StandardCharsets.UTF_8));
      return kind + "-" + HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-256", e);
    }
  }

  /** Names a file, so nothing else may come near one. */
  static boolean isId(String text) {
    return text.matches("(vol|snap)-[0-9a-f]{32}");
  }

  static boolean isVolumeFile(String name) {
    return name.matches("vol-[0-9a-f]{32}\\.raw");
  }
}
