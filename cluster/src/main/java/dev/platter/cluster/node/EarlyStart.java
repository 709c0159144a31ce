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
import java.util.function.Consumer;

/**
 * A start that was begun before its launcher called. It goes as far as QEMU, and waits there for
 * the launcher, in whose cgroups QEMU runs; if that does not call for long, all is undone.
 */
final class EarlyStart implements Images.BytesDone {
  /** What an early start does, in a thread of its own; empty if the launcher is to begin it. */
  interface Work {
    Optional<StartClock> run(EarlyStart early) throws IOException;
  }

  private final Duration patience;
  private final Consumer<Throwable> failed;
  private final CountDownLatch called = new CountDownLatch(1);
  private final CompletableFuture<Optional<StartClock>> done = new CompletableFuture<>();
  private final Thread thread;
  private volatile Images.BytesDone told = Images.BytesDone.NOBODY;
  private volatile boolean givenUp;

  /**
   * @param patience how long it waits for the launcher
   * @param failed is told of a failure that the launcher will not be told of
   */
  EarlyStart(String name, Duration patience, Consumer<Throwable> failed, Work work) {
    this.patience = patience;
    this.failed = failed;
    this.thread = Thread.ofVirtual().name("early " + name).unstarted(() -> run(work));
  }

  void begin() {
    thread.start();
  }

  // A launcher that has called waits for the end of this, whatever it is.
  @SuppressWarnings("CatchingUnchecked")
  private void run(Work work) {
    try {
      done.complete(work.run(this));
    } catch (Throwable e) {
      if (called.getCount() > 0 && !givenUp) {
        givenUp = true;
        failed.accept(e);
      }
      done.completeExceptionally(e);
    }
  }

  /** In the thread of the start, when it is to go no further without the launcher. */
  void awaitLauncher() {
    try {
      if (called.await(patience.toMillis(), TimeUnit.MILLISECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    givenUp = true; // Before it is undone, which takes a while.
    throw Cancellation.cancelled();
  }

  @Override
  public void bytes(String what, long doneBytes, long total) {
    told.bytes(what, doneBytes, total);
  }

  /**
   * The launcher has called.
   *
   * @param caller is told from now on how far a long copy is, and may end the start
   * @return empty if there was none, or it had failed before: a new one may go better, and tells
   *     why if it does not
   */
  Optional<StartClock> finish(Images.BytesDone caller) throws IOException {
    told = caller;
    called.countDown();
    try {
      return givenUp ? Optional.empty() : done.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    } catch (ExecutionException e) {
      if (givenUp) {
        return Optional.empty();
      }
      switch (e.getCause()) {
        case IOException problem -> throw problem;
        case RuntimeException problem -> throw problem;
        case null, default -> throw new IllegalStateException(e);
      }
    }
  }

  /** Undoes what was made. */
  void cancel() {
    givenUp = true;
    thread.interrupt();
  }
}
