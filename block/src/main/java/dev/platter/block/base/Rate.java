package dev.platter.block.base;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How much all who share this may fetch in a second: each says what it is going to fetch, and
 * afterwards pauses until its share is over. What nobody fetched is not saved up.
 */
public final class Rate {
  /** No limit. */
  public static final Rate NONE = new Rate(0);

  private final long bytesPerSecond;
  private final LongSupplier clock;
  private boolean begun;
  private long due;

  /**
   * @param bytesPerSecond 0 for no limit
   */
  public Rate(long bytesPerSecond) {
    this(bytesPerSecond, System::nanoTime);
  }

  Rate(long bytesPerSecond, LongSupplier clock) {
    this.bytesPerSecond = bytesPerSecond;
    this.clock = clock;
  }

  /** About how much is fetched at once, at least and at most. */
  int atOnce(int least, int most) {
    return bytesPerSecond == 0 ? most : Math.clamp(bytesPerSecond, least, most);
  }

  /** When these bytes, and all that were asked for before, may have come; as the clock counts. */
  private synchronized long take(long now, long bytes) {
    double seconds = (double) bytes / bytesPerSecond;
    due = (begun && due - now > 0 ? due : now) + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    begun = true;
    return due;
  }

  /** Takes its share for bytes that are going to be fetched. */
  Share share(long bytes) {
    if (bytesPerSecond == 0 || bytes == 0) {
      return () -> 0;
    }
    long end = take(clock.getAsLong(), bytes);
    return () -> end - clock.getAsLong();
  }

  /** What somebody may fetch. */
  interface Share {
    /** How long to pause when it was fetched; not positive for not at all. */
    long nanosLeft();
  }
}
