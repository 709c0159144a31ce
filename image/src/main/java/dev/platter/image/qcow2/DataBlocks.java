package dev.platter.image.qcow2;

import dev.platter.image.GuestDisk;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.BitSet;

/** Finds the 64 KiB blocks of a disk that hold anything but zeros. */
final class DataBlocks {
  private static final int BLOCK = OrderedQcow2.BLOCK;
  private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[BLOCK]);

  private final GuestDisk disk;
  private final BitSet found = new BitSet();
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);

  private DataBlocks(GuestDisk disk) {
    this.disk = disk;
  }

  static BitSet of(GuestDisk disk) throws IOException {
    var blocks = new DataBlocks(disk);
    disk.visitData(blocks::scan);
    return blocks.found;
  }

  private void scan(long from, long length) throws IOException {
    for (long at = from; at < from + length; ) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), from + length - at));
      int n = disk.read(at, buffer);
      if (n <= 0) {
        throw new EOFException("the disk became shorter at byte " + at + " while it was read");
      }
      mark(at, n);
      at += n;
    }
  }

  private void mark(long offset, int length) {
    MemorySegment bytes = MemorySegment.ofBuffer(buffer.flip());
    for (int at = 0; at < length; ) {
      int block = Math.toIntExact((offset + at) / BLOCK);
      int end = (int) Math.min(length, (block + 1L) * BLOCK - offset);
      if (!found.get(block) && MemorySegment.mismatch(bytes, at, end, ZEROS, 0, end - at) >= 0) {
        found.set(block);
      }
      at = end;
    }
  }
}
