package dev.platter.block.wire;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import org.jspecify.annotations.Nullable;

/**
 * What a peer is sent: gathered in one buffer, which leaves in one write when it is full or {@link
 * #send} is called. Much data goes past it, from the file to the socket. For one thread at a time.
 */
public final class Batch {
  /** From here on, not copying is worth a system call more. */
  public static final int LARGE = 1 << 16;

  private final WritableByteChannel channel;
  private final @Nullable SocketChannel socket;
  private final BufferPool pool;
  private final String peer;
  private @Nullable ByteBuffer buffer;

  /**
   * @param peer who is gone if nothing can be sent
   */
  public Batch(WritableByteChannel channel, BufferPool pool, String peer) {
    this.channel = channel;
    this.socket = channel instanceof SocketChannel s ? s : null;
    this.pool = pool;
    this.peer = peer;
  }

  /** The buffer with room for so many bytes, which are at most a buffer. */
  public ByteBuffer room(int bytes) throws IOException {
    if (buffer == null) {
      buffer = pool.borrow();
    } else if (buffer.remaining() < bytes) {
      send();
    }
    return buffer;
  }

  /**
   * Sends what was gathered, and then bytes of the device that are not copied.
   *
   * @return how many: fewer than asked for, or none where that cannot be done
   */
  public long pass(BlockDevice device, long offset, long length) throws IOException {
    if (socket == null) {
      return 0;
    }
    send();
    return device.transferTo(offset, length, socket);
  }

  public void send() throws IOException {
    if (buffer == null) {
      return;
    }
    buffer.flip();
    try {
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    } catch (IOException e) {
      throw new PeerException(peer + " is gone", e);
    }
    buffer.clear();
  }

  /** Sends what was gathered, and needs no memory until there is more. */
  public void flush() throws IOException {
    send();
    if (buffer != null) {
      pool.giveBack(buffer);
      buffer = null;
    }
  }
}
