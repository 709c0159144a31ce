package dev.platter.image.fill;

import dev.platter.image.BufferStream;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Bytes that can be read anywhere, from the front on. */
final class SourceStream extends BufferStream {
  private final ByteSource bytes;
  private long at;

  SourceStream(ByteSource bytes) {
    this.bytes = bytes;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int n = bytes.read(into, at);
    at += Math.max(0, n);
    return n;
  }
}
