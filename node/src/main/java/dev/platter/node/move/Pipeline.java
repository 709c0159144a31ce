package dev.platter.node.move;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Work on chunks by several threads, of which the results are taken in order. There are only so
 * many chunks, which is all the memory that it takes: who wants one waits for the oldest work.
 */
final class Pipeline implements AutoCloseable {
  private static final int MOST_WORKERS = 4;

  /** What is done to a chunk. */
  interface Work {
    void on(Chunk chunk) throws IOException;
  }

  private final int count = Math.clamp(Runtime.getRuntime().availableProcessors(), 1, MOST_WORKERS);
  private final ExecutorService workers =
      Executors.newFixedThreadPool(count, Thread.ofPlatform().daemon().factory());
  private final Work last;
  private final Deque<Chunk> idle = new ArrayDeque<>();
  private final Deque<Future<Chunk>> underWay = new ArrayDeque<>();
  private final AtomicInteger done = new AtomicInteger();

  /**
   * @param last what is done to each chunk after the work, in order and by the caller's thread
   */
  Pipeline(Work last) {
    this.last = last;
    for (var i = 0; i < 2 * count + 1; i++) {
      idle.add(new Chunk());
    }
  }

  /** A chunk that nobody uses; it comes back by itself when it is done. */
  Chunk next() throws IOException {
    while (idle.isEmpty()) {
      takeOldest();
    }
    return idle.remove();
  }

  void submit(Chunk chunk, Work work) {
    underWay.add(
        workers.submit(
            () -> {
              work.on(chunk);
              done.incrementAndGet();
              return chunk;
            }));
  }

  private void takeOldest() throws IOException {
    try {
      var chunk = underWay.remove().get();
      done.decrementAndGet();
      last.on(chunk);
      idle.add(chunk);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("it was ended");
    }
  }

  /** Waits until all is done. */
  void drain() throws IOException {
    while (!underWay.isEmpty()) {
      takeOldest();
    }
  }

  /** Whether more is done than is taken: then the workers have time for more. */
  boolean isAhead() {
    return done.get() > count;
  }

  /** Afterwards nobody works on anything. */
  @Override
  public void close() {
    workers.shutdownNow();
    workers.close();
  }
}
