package dev.platter.node.libvirt;

import java.io.InterruptedIOException;
import java.time.Duration;

/** A point in time after which waiting is over. */
record Deadline(Duration limit, long nanoTime) {
  static Deadline in(Duration limit) {
    return new Deadline(limit, System.nanoTime() + limit.toNanos());
  }

  Duration remaining() {
    return Duration.ofNanos(Math.max(0, nanoTime - System.nanoTime()));
  }

  boolean passed() {
    return remaining().isZero();
  }

  void pause(Duration pause) throws InterruptedIOException {
    try {
      Thread.sleep(pause);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for libvirtd");
    }
  }
}
