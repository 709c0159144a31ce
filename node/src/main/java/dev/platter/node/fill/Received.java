package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/**
 * What a client sends. Lines are read by way of a small buffer, and large pieces of a body go from
 * the socket to where they are wanted.
 */
final class Received extends BufferStream {
  private static final int BUFFER = 16 << 10;

  private final BufferStream in;
  private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER).limit(0);

  Received(BufferStream in) {
    this.in = in;
  }

  static Received from(ReadableByteChannel channel) {
    return new Received(
        new BufferStream() {
          @Override
          public int read(ByteBuffer into) throws IOException {
            return channel.read(into);
          }
        });
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!buffer.hasRemaining()) {
      if (into.remaining() >= BUFFER) {
        return in.read(into);
      }
      int n = in.read(buffer.clear());
      buffer.flip();
      if (n < 0) {
        return -1;
      }
    }
    int n = Math.min(buffer.remaining(), into.remaining());
    into.put(buffer.slice(buffer.position(), n));
    buffer.position(buffer.position() + n);
    return n;
  }
}
