package dev.platter.block.base;

import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;

/** Notes the order in which blocks are first touched, for a limited time and number. */
final class Recorder {
  /** 8 GiB of first touches: more than any boot. */
  static final int MOST = 1 << 17;

  private final long end;
  private final BitSet seen = new BitSet();
  private int[] order = new int[256];
  private int count;

  Recorder(Duration most) {
    this.end = System.nanoTime() + most.toNanos();
  }

  /** False when it takes no more. */
  synchronized boolean touch(int first, int last) {
    if (System.nanoTime() - end > 0) {
      return false;
    }
    for (int block = first; block <= last && count < MOST; block++) {
      if (!seen.get(block)) {
        seen.set(block);
        if (count == order.length) {
          order = Arrays.copyOf(order, 2 * count);
        }
        order[count++] = block;
      }
    }
    return count < MOST;
  }

  synchronized int[] order() {
    return Arrays.copyOf(order, count);
  }
}
