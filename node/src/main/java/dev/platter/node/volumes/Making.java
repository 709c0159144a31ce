package dev.platter.node.volumes;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.HashMap;
import java.util.Map;

/**
 * What a store is making while others may use it: it counts as promised, and who wants to make or
 * remove the same waits. A process that dies leaves bytes without a record, as always.
 */
final class Making {
  private final Object monitor;
  private final Map<String, Long> promised = new HashMap<>();

  /**
   * @param monitor the store's
   */
  Making(Object monitor) {
    this.monitor = monitor;
  }

  void await(String id) throws IOException {
    synchronized (monitor) {
      try {
        while (promised.containsKey(id)) {
          monitor.wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while " + id + " was being made");
      }
    }
  }

  void begin(String id, long bytes) {
    synchronized (monitor) {
      promised.put(id, bytes);
    }
  }

  void end(String id) {
    synchronized (monitor) {
      promised.remove(id);
      monitor.notifyAll();
    }
  }

  long promised() {
    synchronized (monitor) {
      return promised.values().stream().mapToLong(Long::longValue).sum();
    }
  }
}
