package dev.platter.image.gzip;

import java.io.ByteArrayInputStream;
import java.io.IOException;

/**
 * Resumes with our own decoder, where the JDK's zlib cannot. It is as fast once it is compiled;
 * zlib goes first because it is fast at once and has been read by more eyes.
 */
final class JavaReader implements PlainReader {
  private static final int INPUT = 64 << 10;

  private final Inflate inflate;
  private final Members members;
  private int unread;

  JavaReader(byte[] packed, long base, int bit, byte[] window) throws IOException {
    BitInput in = new BitInput(new ByteArrayInputStream(packed), base, INPUT);
    in.take(bit);
    inflate = new Inflate(in);
    members = Members.fromBlock(in, inflate, window);
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    while (unread == 0) {
      int n = members.next();
      if (n < 0) {
        return -1;
      }
      unread = n;
    }
    int n = Math.min(length, unread);
    System.arraycopy(inflate.out, inflate.position - unread, into, from, n);
    unread -= n;
    return n;
  }

  @Override
  public void close() {}
}
