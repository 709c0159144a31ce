package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The blocks of a file system: as the disk has them, and over that as we have changed them.
 *
 * <p>Every look at a block of the disk is counted, also if it is still in memory. A file system
 * whose structures lead round in circles therefore runs into an end, and so does one that wants too
 * much changed.
 */
final class Blocks {
  private static final int MAX_READS = 1_000_000;
  private static final int MAX_CHANGED = 64 << 20; // bytes
  private static final int KEPT = 256;

  private final ByteSource disk;
  private final long offset;
  private final int blockSize;
  private final long count;
  private final NavigableMap<Long, byte[]> changed = new TreeMap<>();
  private final Map<Long, byte[]> kept =
      new LinkedHashMap<>(KEPT, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, byte[]> eldest) {
          return size() > KEPT;
        }
      };
  private int reads;

  Blocks(ByteSource disk, long offset, int blockSize, long count) {
    this.disk = disk;
    this.offset = offset;
    this.blockSize = blockSize;
    this.count = count;
  }

  /** A block to look at; it must not be written to. */
  byte[] read(long block) throws IOException {
    byte[] mine = changed.get(check(block));
    if (mine != null) {
      return mine;
    }
    if (++reads > MAX_READS) {
      throw Corrupt.because("its structures lead round in circles, or are far too large");
    }
    byte[] bytes = kept.get(block);
    if (bytes == null) {
      bytes = new byte[blockSize];
      disk.readFully(ByteBuffer.wrap(bytes), offset + block * blockSize);
      kept.put(block, bytes);
    }
    return bytes;
  }

  /** A block to change: what is written to the array is in the patch. */
  byte[] edit(long block) throws IOException {
    byte[] mine = changed.get(check(block));
    return mine != null ? mine : change(block, read(block).clone());
  }

  /** A block that had no use until now: zeros, to be changed. */
  byte[] fresh(long block) throws IOException {
    return change(check(block), new byte[blockSize]);
  }

  private byte[] change(long block, byte[] bytes) throws BadImageException {
    changed.put(block, bytes);
    if ((long) changed.size() * blockSize > MAX_CHANGED) {
      throw new BadImageException(
          "more than %d MiB of the ext file system would have to change"
              .formatted(MAX_CHANGED >> 20));
    }
    return bytes;
  }

  long check(long block) throws BadImageException {
    if (block < 0 || block >= count) {
      throw Corrupt.because("block %d of %d is referred to", block, count);
    }
    return block;
  }

  Patch patch() {
    NavigableMap<Long, byte[]> pieces = new TreeMap<>();
    changed.forEach((block, bytes) -> pieces.put(offset + block * blockSize, bytes));
    return new Patch(pieces);
  }
}
