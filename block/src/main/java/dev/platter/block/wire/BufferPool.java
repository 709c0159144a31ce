package dev.platter.block.wire;

import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * Buffers that connections have only while they work, so that memory follows what is going on and
 * not how many clients are connected.
 */
public final class BufferPool {
  public static final int BUFFER = 1 << 20;
  private static final int KEPT = 16;

  private final ArrayBlockingQueue<ByteBuffer> free = new ArrayBlockingQueue<>(KEPT);

  public ByteBuffer borrow() {
    ByteBuffer buffer = free.poll();
    return buffer == null ? ByteBuffer.allocateDirect(BUFFER) : buffer.clear();
  }

  /** Dropped if enough are kept. */
  public void giveBack(ByteBuffer buffer) {
    boolean _ = free.offer(buffer);
  }
}
