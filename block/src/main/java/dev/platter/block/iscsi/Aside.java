package dev.platter.block.iscsi;

import dev.platter.block.wire.PeerException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;

/** Slow work of one session on other threads, a limited number at a time. */
final class Aside {
  private static final int AT_ONCE = 16;

  private final Executor executor;
  private final Semaphore places = new Semaphore(AT_ONCE);

  Aside(Executor executor) {
    this.executor = executor;
  }

  /** Waits for a place: meanwhile the socket is not read, which is how the initiator waits too. */
  void run(Runnable work) throws PeerException {
    places.acquireUninterruptibly();
    boolean started = false;
    try {
      executor.execute(
          () -> {
            try {
              work.run();
            } finally {
              places.release();
            }
          });
      started = true;
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      throw new PeerException("the server has ended, or has no room for another thread");
    } finally {
      if (!started) {
        places.release();
      }
    }
  }

  boolean isFull() {
    return places.availablePermits() == 0;
  }

  void awaitAll() {
    places.acquireUninterruptibly(AT_ONCE);
    places.release(AT_ONCE);
  }
}
