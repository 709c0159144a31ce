package dev.platter.image.qcow2;

import dev.platter.image.GuestDisk;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.BitSet;

/**
 * What a new overlay holds from the start: whole clusters, which are asked for one at a time, so
 * that they need not fit in memory together.
 */
public interface Clusters {
  /** The bytes of a cluster. */
  int SIZE = 1 << 16;

  /** No cluster at all. */
  Clusters NONE =
      new Clusters() {
        @Override
        public long[] addresses() {
          return new long[0];
        }

        @Override
        public void read(long address, ByteBuffer into) {
          throw new IllegalArgumentException("there is no cluster");
        }
      };

  /** Where they lie in the disk, ascending; each is a multiple of {@link #SIZE}. */
  long[] addresses();

  /**
   * Fills {@code into}, which has room for one cluster. What lies past the end of the disk is
   * zeros.
   */
  void read(long address, ByteBuffer into) throws IOException;

  /** The clusters of a disk that hold anything but zeros. The disk is read once to find them. */
  static Clusters of(GuestDisk disk) throws IOException {
    BitSet blocks = DataBlocks.of(disk);
    long size = disk.virtualSize();
    long[] addresses = blocks.stream().mapToLong(block -> (long) block * SIZE).toArray();
    return new Clusters() {
      @Override
      public long[] addresses() {
        return addresses.clone();
      }

      @Override
      public void read(long address, ByteBuffer into) throws IOException {
        int present = (int) Math.min(SIZE, size - address);
        if (disk.read(address, into) < present) {
          throw new EOFException("the disk became shorter at byte " + address);
        }
        while (into.hasRemaining()) {
          into.put((byte) 0);
        }
      }
    };
  }
}
