package dev.platter.cluster.node;

import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * A start that was begun before its launcher called. It goes as far as QEMU, and waits there for
 * the launcher, in whose cgroups QEMU runs; if that does not call for long, all is undone.
 */
final class EarlyStart implements Images.BytesDone {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final CountDownLatch called = new CountDownLatch(1);
  private final CompletableFuture<Optional<StartClock>> done = new CompletableFuture<>();
  private volatile Images.BytesDone told = Images.BytesDone.NOBODY;
  private final Thread thread;

  /** What an early start does, in a thread of its own; empty if the launcher is to begin it. */
  interface Work {
    Optional<StartClock> run(EarlyStart early) throws IOException;
  }

  EarlyStart(String name, Work work) {
    this.thread = Thread.ofVirtual().name("early " + name).unstarted(() -> run(work));
  }

  void begin() {
    thread.start();
  }

  private void run(Work work) {
    try {
      done.complete(work.run(this));
    } catch (IOException | RuntimeException e) {
      done.completeExceptionally(e);
    }
  }

  /** In the thread of the start, when nothing but QEMU is missing. */
  void awaitLauncher() {
    try {
      if (called.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    throw Cancellation.cancelled();
  }

  @Override
  public void bytes(String what, long doneBytes, long total) {
    told.bytes(what, doneBytes, total);
  }

  /**
   * The launcher has called.
   *
   * @param from who is told from now on how far a long copy is, and may end the start
   * @return empty if there was none, or it had failed before: a new one may go better, and tells
   *     why if it does not
   */
  Optional<StartClock> finish(Images.BytesDone from) throws IOException {
    if (done.isCompletedExceptionally()) {
      return Optional.empty();
    }
    told = from;
    called.countDown();
    try {
      return done.get();
    } catch (InterruptedException e) {
      cancel();
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case IOException problem -> throw problem;
        case RuntimeException problem -> throw problem;
        case null, default -> throw new IllegalStateException(e);
      }
    }
  }

  /** Undoes what was made. */
  void cancel() {
    thread.interrupt();
  }
}
