package dev.platter.image.fill;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A disk whose file is pushed, from wherever and with whatever pauses. A thread of its own decodes
 * it; who pushes waits where that is slower, so no more than {@link #AHEAD} pieces are in memory.
 */
public final class PushedFill implements AutoCloseable {
  private static final int PIECE = 256 << 10;
  private static final int AHEAD = 8;
  private static final byte[] END = {};
  private static final long LOOK_MILLIS = 200;

  /** What is done with the bytes. */
  @FunctionalInterface
  public interface Work {
    Filled from(InputStream in) throws IOException;
  }

  private final BlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(AHEAD);
  private final CompletableFuture<Filled> result = new CompletableFuture<>();
  private final Thread thread;
  private volatile boolean abandoned;

  public PushedFill(Work work) {
    this.thread = Thread.ofPlatform().name("fill").daemon().start(() -> run(work));
  }

  private void run(Work work) {
    try {
      result.complete(work.from(new Pieces()));
    } catch (Throwable e) { // Whatever it is, who pushes has to hear of it.
      result.completeExceptionally(e);
    }
  }

  /**
   * Uses up the bytes, and waits until there is room for them.
   *
   * @throws IOException why the disk is not taken
   */
  public void bytes(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      byte[] piece = new byte[Math.min(PIECE, bytes.remaining())];
      bytes.get(piece);
      put(piece);
    }
  }

  /** Returns when the disk is written. */
  public Filled finish() throws IOException {
    put(END);
    return get();
  }

  /** Whether no more bytes are taken: it failed. */
  public boolean isOver() {
    return result.isDone();
  }

  private void put(byte[] piece) throws IOException {
    try {
      while (!queue.offer(piece, LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
        if (result.isDone()) {
          get();
          return;
        }
      }
      if (result.isCompletedExceptionally()) {
        get();
      }
    } catch (InterruptedException e) {
      throw interrupted();
    }
  }

  private Filled get() throws IOException {
    try {
      return result.get();
    } catch (InterruptedException e) {
      throw interrupted();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case IOException io -> throw io;
        case RuntimeException runtime -> throw runtime;
        case Error error -> throw error;
        case null, default -> throw new IOException(e);
      }
    }
  }

  private static IOException interrupted() {
    Thread.currentThread().interrupt();
    return new InterruptedIOException("interrupted while a disk is filled");
  }

  /** Gives up what is not finished; the target is not touched any more when this returns. */
  @Override
  public void close() {
    abandoned = true;
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
  }

  /** What was pushed, as a stream. */
  private final class Pieces extends InputStream {
    private ByteBuffer piece = ByteBuffer.allocate(0);
    private boolean ended;

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      while (!piece.hasRemaining() && !ended) {
        byte[] next = next();
        ended = next.length == 0;
        piece = ByteBuffer.wrap(next);
      }
      if (ended) {
        return -1;
      }
      int n = Math.min(length, piece.remaining());
      piece.get(into, from, n);
      return n;
    }

    private byte[] next() throws IOException {
      try {
        byte @Nullable [] found = null;
        while (found == null) {
          if (abandoned) {
            throw new IOException("nobody goes on with it");
          }
          found = queue.poll(LOOK_MILLIS, TimeUnit.MILLISECONDS);
        }
        return found;
      } catch (InterruptedException e) {
        throw interrupted();
      }
    }
  }
}
