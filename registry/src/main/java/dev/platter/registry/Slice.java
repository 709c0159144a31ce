package dev.platter.registry;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.Consumer;

/**
 * The part of a blob that one request carries. Tells if it was the source that failed, which is no
 * reason to try again.
 */
final class Slice extends FilterInputStream {
  private final Consumer<IOException> failed;
  private long left;

  Slice(InputStream in, long length, Consumer<IOException> failed) {
    super(in);
    this.left = length;
    this.failed = failed;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    if (left == 0) {
      return -1;
    }
    try {
      int read = in.read(buffer, start, (int) Math.min(length, left));
      if (read < 0) {
        throw new IOException("the source of a blob ends too early");
      }
      left -= read;
      return read;
    } catch (IOException e) {
      failed.accept(e);
      throw e;
    }
  }
}
