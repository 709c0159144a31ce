package dev.platter.image.fill;

import dev.platter.image.BufferStream;
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
  private static final ByteBuffer END = ByteBuffer.allocate(0);
  private static final long LOOK_MILLIS = 200;

  /** What is done with the bytes. */
  @FunctionalInterface
  public interface Work {
    Filled from(InputStream in) throws IOException;
  }

  /** Brings bytes. */
  @FunctionalInterface
  public interface Source {
    /** Returns how many were put into the piece; -1 if there are no more. */
    int read(ByteBuffer piece) throws IOException;
  }

  // A piece is idle, or is filled by who pushes, or waits to be read, or is read.
  private final BlockingQueue<ByteBuffer> idle = new ArrayBlockingQueue<>(AHEAD);
  private final BlockingQueue<ByteBuffer> queue = new ArrayBlockingQueue<>(AHEAD + 1);
  private final CompletableFuture<Filled> result = new CompletableFuture<>();
  private final Thread thread;
  private volatile boolean abandoned;

  public PushedFill(Work work) {
    for (int i = 0; i < AHEAD; i++) {
      idle.add(ByteBuffer.allocateDirect(PIECE));
    }
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
      take(
          piece -> {
            int n = Math.min(piece.remaining(), bytes.remaining());
            piece.put(bytes.slice(bytes.position(), n));
            bytes.position(bytes.position() + n);
            return n;
          });
    }
  }

  /**
   * Has a piece filled when there is one free, and takes what is in it.
   *
   * @return what the source returned
   * @throws IOException why the disk is not taken, or what the source throws
   */
  public int take(Source source) throws IOException {
    ByteBuffer piece = free();
    int n = 0;
    try {
      n = source.read(piece);
    } finally {
      (n > 0 ? queue : idle).add(n > 0 ? piece.flip() : piece.clear());
    }
    return n;
  }

  /** Returns when the disk is written. */
  public Filled finish() throws IOException {
    queue.add(END);
    return get();
  }

  /** Whether no more bytes are taken: it failed. */
  public boolean isOver() {
    return result.isDone();
  }

  private ByteBuffer free() throws IOException {
    try {
      @Nullable ByteBuffer piece = null;
      while (piece == null || result.isDone()) {
        if (result.isDone()) {
          get();
          throw new IOException("it ends before what is sent");
        }
        piece = idle.poll(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      }
      return piece;
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
  private final class Pieces extends BufferStream {
    private @Nullable ByteBuffer piece;
    private boolean ended;

    @Override
    public int read(ByteBuffer into) throws IOException {
      if (ended) {
        return -1;
      }
      var from = piece == null ? next() : piece;
      if (!from.hasRemaining()) { // Only the end has nothing in it.
        ended = true;
        return -1;
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
        @Nullable ByteBuffer found = null;
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
