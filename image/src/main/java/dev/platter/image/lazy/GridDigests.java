package dev.platter.image.lazy;

import dev.platter.image.Digest;
import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;

/** The digests of a file in pieces of 256 KiB. */
final class GridDigests {
  static final int CHUNK = 256 << 10;
  static final int BYTES = 32;

  private final MessageDigest sha = Digest.sha256();
  private final ByteArrayOutputStream digests = new ByteArrayOutputStream();
  private int filled;

  void update(byte[] bytes, int length) {
    for (int at = 0; at < length; ) {
      int n = Math.min(length - at, CHUNK - filled);
      sha.update(bytes, at, n);
      at += n;
      filled += n;
      if (filled == CHUNK) {
        digests.writeBytes(sha.digest());
        filled = 0;
      }
    }
  }

  void finish() {
    if (filled > 0) {
      digests.writeBytes(sha.digest());
      filled = 0;
    }
  }

  byte[] bytes() {
    return digests.toByteArray();
  }
}
