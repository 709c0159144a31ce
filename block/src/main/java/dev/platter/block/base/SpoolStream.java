package dev.platter.block.base;

import java.io.IOException;
import java.io.InputStream;

/** A complete spool from its first byte to its last. */
final class SpoolStream extends InputStream {
  private static final int PIECE = 1 << 20;

  private final Spool spool;
  private byte[] piece = {};
  private int at;
  private long next;

  SpoolStream(Spool spool) {
    this.spool = spool;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (at == piece.length) {
      if (next == spool.size()) {
        return -1;
      }
      piece = spool.read(new Range(next, Math.min(spool.size(), next + PIECE)));
      next += piece.length;
      at = 0;
    }
    int n = Math.min(length, piece.length - at);
    System.arraycopy(piece, at, buffer, start, n);
    at += n;
    return n;
  }
}
