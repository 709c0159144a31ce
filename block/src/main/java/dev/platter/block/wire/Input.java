package dev.platter.block.wire;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ReadableByteChannel;

/**
 * What the other side sends. As much is taken from the socket at once as there is, so that many
 * messages cost one call.
 */
public final class Input {
  public static final int BUFFER = 1 << 16;

  private final ReadableByteChannel channel;
  private final ByteBuffer buffer;
  private Idle idle = () -> {};

  /** What to do before waiting for the other side, who may himself be waiting. */
  public interface Idle {
    void beforeWaiting() throws IOException;
  }

  public Input(ReadableByteChannel channel) {
    this(channel, BUFFER);
  }

  /** With a buffer of another size, which no message may exceed that is taken as a whole. */
  public Input(ReadableByteChannel channel, int size) {
    this.channel = channel;
    this.buffer = ByteBuffer.allocateDirect(size).limit(0);
  }

  public void whenIdle(Idle idle) {
    this.idle = idle;
  }

  /** Positioned at what comes next. */
  public ByteBuffer buffer() {
    return buffer;
  }

  /**
   * Waits until {@code n} bytes are in the buffer, at most as many as it holds.
   *
   * @return false if the other side has closed the connection and nothing is left
   */
  public boolean await(int n) throws IOException {
    if (buffer.remaining() >= n) {
      return true;
    }
    idle.beforeWaiting();
    buffer.compact();
    while (buffer.position() < n) {
      if (receive(buffer) < 0) {
        if (buffer.position() > 0) {
          throw new PeerException("the connection ended within a message");
        }
        buffer.flip();
        return false;
      }
    }
    buffer.flip();
    return true;
  }

  /** As {@link #await}, where the bytes have been promised. */
  public ByteBuffer require(int n) throws IOException {
    if (!await(n)) {
      throw new PeerException("the connection ended within a message");
    }
    return buffer;
  }

  /** Fills what remains of another buffer. */
  public void fill(ByteBuffer into) throws IOException {
    int buffered = Math.min(into.remaining(), buffer.remaining());
    into.put(into.position(), buffer, buffer.position(), buffered);
    into.position(into.position() + buffered);
    buffer.position(buffer.position() + buffered);
    if (into.hasRemaining()) {
      idle.beforeWaiting();
    }
    while (into.hasRemaining()) {
      if (receive(into) < 0) {
        throw new PeerException("the connection ended within a message");
      }
    }
  }

  public void skip(long n) throws IOException {
    for (long left = n; left > 0; ) {
      ByteBuffer some = require((int) Math.min(left, buffer.capacity()));
      int step = (int) Math.min(left, some.remaining());
      some.position(some.position() + step);
      left -= step;
    }
  }

  private int receive(ByteBuffer into) throws IOException {
    try {
      return channel.read(into);
    } catch (ClosedByInterruptException | PeerException e) {
      throw e;
    } catch (IOException e) {
      throw new PeerException("the connection broke", e);
    }
  }
}
