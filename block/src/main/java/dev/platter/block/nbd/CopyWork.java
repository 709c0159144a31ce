package dev.platter.block.nbd;

import dev.platter.block.Extent;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** A disk in regions that workers take one after the other, and how much of it is done. */
final class CopyWork {
  private static final long LEAST_REGION = 16 << 20;
  private static final long LARGEST_REGION = 1 << 30;
  private static final int REGIONS_EACH = 16;

  private final long total;
  private final long region;
  private final int workers;
  private final CopyMap map = new CopyMap();
  private final AtomicLong next = new AtomicLong();
  private final AtomicLong done = new AtomicLong();

  CopyWork(long total, int mostWorkers) {
    this.total = total;
    long fair = total / (mostWorkers * (long) REGIONS_EACH);
    this.region = Math.clamp(Long.highestOneBit(fair), LEAST_REGION, LARGEST_REGION);
    this.workers = (int) Math.clamp(Math.ceilDiv(total, region), 1L, mostWorkers);
  }

  long total() {
    return total;
  }

  int workers() {
    return workers;
  }

  /** Where the next region begins; the end of the disk if there is none. */
  long take() {
    return next.getAndUpdate(at -> end(at));
  }

  /** Where a region ends. */
  long end(long start) {
    return region < total - start ? start + region : total;
  }

  /** What a part of a region consists of, from its beginning on, perhaps not to its end. */
  List<Extent> extents(NbdClient client, long from, long to) throws IOException {
    return map.extents(client, from, to, total);
  }

  void finished(long bytes) {
    done.addAndGet(bytes);
  }

  long done() {
    return done.get();
  }
}
