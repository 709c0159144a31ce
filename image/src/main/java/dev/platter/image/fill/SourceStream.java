package dev.platter.image.fill;

import dev.platter.image.ByteSource;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** Bytes that can be read anywhere, from the front on. */
final class SourceStream extends InputStream {
  private final ByteSource bytes;
  private long at;

  SourceStream(ByteSource bytes) {
    this.bytes = bytes;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    int n = bytes.read(ByteBuffer.wrap(into, from, length), at);
    at += Math.max(0, n);
    return n;
  }
}
