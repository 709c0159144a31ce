package dev.platter.node.image;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongConsumer;

/** Tells how many bytes have passed, at every mebibyte. */
final class ProgressStream extends FilterInputStream {
  private static final long STEP = 1 << 20;

  private final LongConsumer told;
  private long done;
  private long next = STEP;

  ProgressStream(InputStream in, LongConsumer told) {
    super(in);
    this.told = told;
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    var n = super.read(buffer, start, length);
    done += Math.max(0, n);
    if (done >= next) {
      next = done + STEP;
      told.accept(done);
    }
    return n;
  }
}
