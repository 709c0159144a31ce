package dev.platter.image.qcow2;

import dev.platter.image.raw.RawDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;

/**
 * What an overlay and the raw base below it are together: the clusters of a disk that lies on
 * nothing. Those that are zeros in the overlay are left out, and so are the holes of the base.
 *
 * <p>Nobody may write to either meanwhile. 12 bytes of memory are needed for each cluster, beside
 * those of the overlay.
 */
public final class WholeReader implements ClusterReader {
  private static final int CLUSTER = OverlayLayout.CLUSTER;

  /** In place of its number in the overlay, if a cluster is the base's. */
  private static final int BELOW = Integer.MIN_VALUE;

  private final OverlayReader overlay;
  private final RawDisk base;
  private final long[] addresses;
  private final int[] numbers;

  private WholeReader(OverlayReader overlay, RawDisk base) throws IOException {
    this.overlay = overlay;
    this.base = base;
    var there = new BitSet();
    base.visitData(
        (from, length) -> {
          var end = Math.min(from + length, overlay.virtualSize());
          if (from < end) {
            there.set(cluster(from), cluster(end - 1) + 1);
          }
        });
    var above = overlay.addresses();
    for (var i = 0; i < above.length; i++) {
      there.set(cluster(above[i]), !overlay.isZeros(i));
    }
    addresses = there.stream().mapToLong(cluster -> (long) cluster * CLUSTER).toArray();
    numbers = new int[addresses.length];
    for (var i = 0; i < addresses.length; i++) {
      var number = Arrays.binarySearch(above, addresses[i]);
      numbers[i] = number < 0 ? BELOW : number;
    }
  }

  private static int cluster(long address) {
    return Math.toIntExact(address / CLUSTER);
  }

  /**
   * @param base with nothing missing; it may be smaller than the overlay
   */
  public static WholeReader open(Path overlay, Path base) throws IOException {
    var above = OverlayReader.open(overlay);
    try {
      var below = RawDisk.open(base);
      try {
        return new WholeReader(above, below);
      } catch (Throwable e) {
        below.close();
        throw e;
      }
    } catch (Throwable e) {
      above.close();
      throw e;
    }
  }

  @Override
  public long virtualSize() {
    return overlay.virtualSize();
  }

  @Override
  public long[] addresses() {
    return addresses.clone();
  }

  @Override
  public void read(int first, ByteBuffer into) throws IOException {
    var limit = into.limit();
    for (var i = first; into.position() < limit; ) {
      var next = i + 1;
      while ((next - i) * CLUSTER < limit - into.position() && follows(next)) {
        next++;
      }
      into.limit(into.position() + (next - i) * CLUSTER);
      if (numbers[i] == BELOW) {
        readBelow(addresses[i], into);
      } else {
        overlay.read(numbers[i], into);
      }
      i = next;
    }
  }

  /** Whether a cluster can be read together with the one before. */
  private boolean follows(int i) {
    return numbers[i] == BELOW
        ? numbers[i - 1] == BELOW && addresses[i] == addresses[i - 1] + CLUSTER
        : numbers[i] == numbers[i - 1] + 1;
  }

  /** A base may end within its last cluster. */
  private void readBelow(long address, ByteBuffer into) throws IOException {
    base.read(address, into);
    into.put(new byte[into.remaining()]);
  }

  @Override
  public void close() throws IOException {
    try (overlay) {
      base.close();
    }
  }
}
