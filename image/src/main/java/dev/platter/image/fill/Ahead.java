package dev.platter.image.fill;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * A stream that a thread of its own reads ahead of who wants it: to unpack a file takes a processor
 * all the time, and so does to look through what was in it and write that.
 *
 * <p>What it fails with, the reader gets when all that came before is read. No more than {@link
 * #PIECES} pieces are in memory.
 */
final class Ahead extends BufferStream {
  private static final int PIECE = 256 << 10;
  private static final int PIECES = 8;
  private static final ByteBuffer END = ByteBuffer.allocate(0);

  private final BufferStream in;
  private final BlockingQueue<ByteBuffer> idle = new ArrayBlockingQueue<>(PIECES);
  private final BlockingQueue<ByteBuffer> ready = new ArrayBlockingQueue<>(PIECES + 1);
  private final Thread thread;
  private volatile @Nullable Throwable failure;
  private @Nullable ByteBuffer piece;
  private boolean ended;

  /**
   * @param in belongs to the thread until that has ended, and is closed with this one
   */
  Ahead(BufferStream in) {
    this.in = in;
    for (int i = 0; i < PIECES; i++) {
      idle.add(ByteBuffer.allocateDirect(PIECE));
    }
    this.thread = Thread.ofPlatform().name("unpack").daemon().start(this::run);
  }

  private void run() {
    try {
      while (fill(idle.take())) {}
    } catch (InterruptedException e) {
      // Nobody reads on.
    } catch (Throwable e) { // Whatever it is, who reads has to hear of it.
      failure = e;
    } finally {
      ready.add(END);
    }
  }

  /** Returns whether there is more. */
  private boolean fill(ByteBuffer next) throws IOException {
    int n = 0;
    try {
      while (next.hasRemaining() && (n = in.read(next)) >= 0) {}
      return n >= 0;
    } finally {
      if (next.flip().hasRemaining()) {
        ready.add(next);
      }
    }
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (ended) {
      return end();
    }
    ByteBuffer from = piece == null ? next() : piece;
    if (!from.hasRemaining()) { // Only the end has nothing in it.
      ended = true;
      return end();
    }
    int n = Math.min(into.remaining(), from.remaining());
    into.put(from.slice(from.position(), n));
    from.position(from.position() + n);
    piece = from.hasRemaining() ? from : null;
    if (piece == null) {
      idle.add(from.clear());
    }
    return n;
  }

  private ByteBuffer next() throws IOException {
    try {
      return ready.take();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a file is unpacked");
    }
  }

  private int end() throws IOException {
    return switch (failure) {
      case null -> -1;
      case IOException e -> throw e;
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case Throwable e -> throw new IOException(e);
    };
  }

  /** The stream below is not touched any more when this returns. */
  @Override
  public void close() throws IOException {
    thread.interrupt();
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    in.close();
  }
}
