package dev.platter.image.oci;

import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** So many bytes of a stream; one that ends earlier fails, the rest of a longer one is left. */
public final class ExactInputStream extends FilterInputStream {
  private long left;

  public ExactInputStream(InputStream in, long length) {
    super(in);
    this.left = length;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    if (left == 0) {
      return length == 0 ? 0 : -1;
    }
    int n = super.read(buffer, start, (int) Math.min(length, left));
    if (n < 0) {
      throw new EOFException("the blob ends " + left + " bytes too early");
    }
    left -= n;
    return n;
  }

  @Override
  public long skip(long n) throws IOException {
    long skipped = super.skip(Math.min(n, left));
    left -= skipped;
    return skipped;
  }

  @Override
  public boolean markSupported() {
    return false;
  }
}
