package dev.platter.cluster.controller;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Keys of objects to look at, each in it once at most: so it holds no more than there are objects.
 *
 * <p>A key that somebody works on is given to nobody else; if it is added meanwhile, it comes once
 * more when that work is {@linkplain #done done}. A key that is added with a delay comes at the
 * earliest of the times that were asked for.
 */
final class WorkQueue implements AutoCloseable {
  private static final Duration FIRST_RETRY = Duration.ofMillis(20);
  private static final Duration LAST_RETRY = Duration.ofSeconds(60);

  private record Entry(Instant due, long number, String key) {
    static final Comparator<Entry> ORDER =
        Comparator.comparing(Entry::due).thenComparingLong(Entry::number);
  }

  private final InstantSource clock;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final TreeSet<Entry> order = new TreeSet<>(Entry.ORDER);
  private final Map<String, Entry> waiting = new HashMap<>();
  private final Set<String> active = new HashSet<>();
  private final Map<String, Integer> failures = new HashMap<>();
  private long number;
  private boolean closed;

  WorkQueue(InstantSource clock) {
    this.clock = clock;
  }

  void add(String key) {
    add(key, Duration.ZERO);
  }

  void add(String key, Duration delay) {
    lock.lock();
    try {
      var due = clock.instant().plus(delay);
      var present = waiting.get(key);
      if (present != null) {
        if (!due.isBefore(present.due())) {
          return;
        }
        order.remove(present);
      }
      var entry = new Entry(due, number++, key);
      waiting.put(key, entry);
      order.add(entry);
      changed.signal(); // One of those who wait; who works looks again before it does.
    } finally {
      lock.unlock();
    }
  }

  /** Adds a key whose work failed; the delay doubles with each failure until one succeeds. */
  void retry(String key) {
    Duration delay;
    lock.lock();
    try {
      var times = failures.merge(key, 1, Integer::sum);
      delay = FIRST_RETRY.multipliedBy(1L << Math.min(times - 1, 20));
    } finally {
      lock.unlock();
    }
    add(key, delay.compareTo(LAST_RETRY) > 0 ? LAST_RETRY : delay);
  }

  void succeeded(String key) {
    lock.lock();
    try {
      failures.remove(key);
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the next key; null when the queue is closed. Each key needs a {@link #done}. */
  @Nullable String take() throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (!closed) {
        var now = clock.instant();
        var next = order.stream().filter(entry -> !active.contains(entry.key())).findFirst();
        if (next.isEmpty()) {
          changed.await();
        } else if (next.get().due().isAfter(now)) {
          var wait = Duration.between(now, next.get().due());
          var _ = changed.await(wait.toNanos(), TimeUnit.NANOSECONDS);
        } else {
          var entry = next.get();
          order.remove(entry);
          waiting.remove(entry.key());
          active.add(entry.key());
          if (!order.isEmpty()) {
            changed.signal(); // Somebody has to wait for the next one, which may be due later.
          }
          return entry.key();
        }
      }
      return null;
    } finally {
      lock.unlock();
    }
  }

  void done(String key) {
    lock.lock();
    try {
      active.remove(key);
      if (waiting.containsKey(key)) {
        changed.signal();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Keys that wait for somebody, those with a delay too. */
  int size() {
    lock.lock();
    try {
      return order.size();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
