package dev.platter.cluster.node;

import dev.platter.model.IdentityKey;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Lets the keeper look at identities that have changed, all those at once that changed while it was
 * looking: many disks cost little more than one. All that are here are looked at now and then.
 */
final class IdentityLoop implements IdentityKeeper.Later, AutoCloseable {
  private static final Duration SWEEP = Duration.ofSeconds(10);

  private final Duration sweepEvery;
  private final Consumer<String> log;
  private final Set<IdentityKey> changed = new LinkedHashSet<>();
  private final Set<IdentityKey> again = new LinkedHashSet<>();
  private boolean closed;
  private @Nullable Thread thread;

  IdentityLoop(Consumer<String> log) {
    this(SWEEP, log);
  }

  /**
   * @param sweepEvery how long it is from one look at all that is here to the next
   */
  IdentityLoop(Duration sweepEvery, Consumer<String> log) {
    this.sweepEvery = sweepEvery;
    this.log = log;
  }

  synchronized void start(IdentityKeeper keeper) {
    thread = Thread.ofPlatform().name("identities").daemon().start(() -> run(keeper));
  }

  @Override
  public synchronized void add(IdentityKey key) {
    changed.add(key);
    notifyAll();
  }

  @Override
  public void addToSweep(IdentityKey key) {
    addToSweep(Set.of(key));
  }

  private synchronized void addToSweep(Set<IdentityKey> keys) {
    again.addAll(keys);
  }

  private synchronized Set<IdentityKey> takeForSweep() {
    var out = Set.copyOf(again);
    again.clear();
    return out;
  }

  private void run(IdentityKeeper keeper) {
    var nextSweep = System.nanoTime();
    try {
      for (var keys = take(nextSweep); keys != null; keys = take(nextSweep)) {
        var sweep = System.nanoTime() - nextSweep >= 0;
        if (sweep) {
          keys.addAll(takeForSweep());
          nextSweep = System.nanoTime() + sweepEvery.toNanos();
        }
        try {
          addToSweep(keeper.look(keys, sweep));
        } catch (IOException | RuntimeException e) {
          addToSweep(keys);
          log.accept("identities: " + e);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Null when it is closed. */
  private synchronized @Nullable Set<IdentityKey> take(long until) throws InterruptedException {
    while (!closed && changed.isEmpty() && System.nanoTime() - until < 0) {
      wait(Math.max(1, (until - System.nanoTime()) / 1_000_000));
    }
    if (closed) {
      return null;
    }
    var out = new LinkedHashSet<>(changed);
    changed.clear();
    return out;
  }

  @Override
  public void close() {
    Thread running;
    synchronized (this) {
      closed = true;
      notifyAll();
      running = thread;
    }
    try {
      if (running != null) {
        running.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
