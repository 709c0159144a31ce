package dev.platter.block;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Which blocks of a disk were written: a bit for each. They lie in regions, which take memory when
 * the first of their blocks is written, so that a large disk costs little until it is filled.
 */
final class WrittenBlocks {
  static final int BLOCK = 4096;

  /** How much of the disk a region is. */
  static final long REGION = 64L << 20;

  private static final int BLOCKS = (int) (REGION / BLOCK);

  /** In place of every region that is written as a whole: a guest may discard terabytes. */
  private static final Region ALL = all();

  private final long size;
  private final AtomicReferenceArray<@Nullable Region> regions;

  /** The bits of a region. Who sets some of them, holds its monitor. */
  static final class Region {
    private final AtomicLongArray bits = new AtomicLongArray(BLOCKS / Long.SIZE);
  }

  private static Region all() {
    Region region = new Region();
    for (int word = 0; word < region.bits.length(); word++) {
      region.bits.set(word, -1L);
    }
    return region;
  }

  WrittenBlocks(long size) {
    this.size = size;
    this.regions = new AtomicReferenceArray<>(Math.toIntExact(Math.ceilDiv(size, REGION)));
  }

  Region region(long offset) {
    int index = (int) (offset / REGION);
    Region there = regions.get(index);
    if (there != null) {
      return there;
    }
    regions.compareAndSet(index, null, new Region());
    Region made = regions.get(index);
    if (made == null) {
      throw new IllegalStateException("regions stay");
    }
    return made;
  }

  boolean isWritten(long offset) {
    Region region = regions.get((int) (offset / REGION));
    return region != null && isSet(region, (int) (offset % REGION / BLOCK));
  }

  private static boolean isSet(Region region, int block) {
    return (region.bits.get(block / Long.SIZE) >>> block & 1) != 0;
  }

  /**
   * Where a run of blocks ends that are all written, or all not.
   *
   * @param written what {@link #isWritten} said of the offset; it may say otherwise by now
   */
  long runEnd(long offset, long end, boolean written) {
    long at = offset;
    while (at < end) {
      Region region = regions.get((int) (at / REGION));
      if (region == null) {
        if (written) {
          return at;
        }
        at = (at / REGION + 1) * REGION;
        continue;
      }
      int block = (int) (at % REGION / BLOCK);
      long word = region.bits.get(block / Long.SIZE);
      long others = (written ? ~word : word) >>> block;
      if (others != 0) {
        return Math.min(end, (at / BLOCK + Long.numberOfTrailingZeros(others)) * BLOCK);
      }
      at = (at / BLOCK + Long.SIZE - block % Long.SIZE) * BLOCK;
    }
    return end;
  }

  boolean isAllWritten(long offset, long end) {
    return runEnd(offset, end, true) == end;
  }

  /** Every block of a range within a region, whether the range covers it or only touches it. */
  void mark(Region region, long offset, long end) {
    if (end - offset == REGION) {
      // Who holds the region that was there finds by isWritten that nothing is left to copy.
      regions.set((int) (offset / REGION), ALL);
      return;
    }
    int last = (int) ((Math.min(end, size) - 1) % REGION / BLOCK);
    for (int block = (int) (offset % REGION / BLOCK); block <= last; ) {
      int word = block / Long.SIZE;
      int to = Math.min(last, word * Long.SIZE + Long.SIZE - 1);
      long mask = -1L >>> (Long.SIZE - 1 - (to - block)) << block;
      region.bits.set(word, region.bits.get(word) | mask);
      block = to + 1;
    }
  }
}
