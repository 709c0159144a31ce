package dev.platter.block.nbd;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;

/** What a server says to a human: shown in errors, so never long and never more than one line. */
final class ServerText {
  private static final int MOST = 500;

  private ServerText() {}

  /** Takes up what remains in {@code bytes}; with a colon before it, or nothing at all. */
  static String after(ByteBuffer bytes) {
    byte[] start = new byte[Math.min(MOST, bytes.remaining())];
    bytes.get(start);
    bytes.position(bytes.limit());
    String text = new String(start, UTF_8).replaceAll("[\\p{Cntrl}\\p{Cf}\u2028\u2029]+", " ");
    return text.isBlank() ? "" : ": " + text.strip();
  }
}
