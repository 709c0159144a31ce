package dev.platter.cluster.node;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock for each key, which is there only while somebody holds it or waits for it: keys come and
 * go for as long as the daemon lives. A thread can take one that it has.
 */
final class Locks<K> {
  private final Map<K, Shared> all = new ConcurrentHashMap<>();

  /** Gives the lock back. */
  interface Held extends AutoCloseable {
    @Override
    void close();
  }

  /** Counted by those who have it or want it, which only the map's own lock for the key guards. */
  private static final class Shared {
    private final ReentrantLock lock = new ReentrantLock();
    private int users;
  }

  /** Waits for it. */
  Held lock(K key) {
    var shared = enter(key);
    shared.lock.lock();
    return () -> release(key, shared);
  }

  /** Empty if another thread has it. */
  Optional<Held> tryLock(K key) {
    var shared = enter(key);
    if (shared.lock.tryLock()) {
      return Optional.of(() -> release(key, shared));
    }
    leave(key);
    return Optional.empty();
  }

  private Shared enter(K key) {
    return all.compute(
        key,
        (_, there) -> {
          var shared = there == null ? new Shared() : there;
          shared.users++;
          return shared;
        });
  }

  private void release(K key, Shared shared) {
    shared.lock.unlock();
    leave(key);
  }

  private void leave(K key) {
    all.computeIfPresent(key, (_, shared) -> --shared.users == 0 ? null : shared);
  }

  /** How many keys somebody has or wants. */
  int size() {
    return all.size();
  }
}
