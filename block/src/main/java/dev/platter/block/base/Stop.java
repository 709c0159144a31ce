package dev.platter.block.base;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A signal to end, for those who would otherwise sleep. Threads of a base are not interrupted. */
final class Stop {
  private final CountDownLatch given = new CountDownLatch(1);

  void give() {
    given.countDown();
  }

  boolean isGiven() {
    return given.getCount() == 0;
  }

  /** Sleeps; true as soon as the signal is given. */
  boolean within(long nanos) {
    try {
      return given.await(nanos, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      throw new IllegalStateException("threads of a base must not be interrupted", e);
    }
  }
}
