package dev.platter.block.base;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * In which order a guest first read its blocks of 64 KiB. It may come from anybody: it decides what
 * is fetched first, never what is fetched.
 *
 * @param virtualSize of the disk it was recorded on
 * @param blocks each at most once
 */
public record Trace(long virtualSize, List<Integer> blocks) {
  /** 8 GiB of first touches: more than any boot. */
  static final int MOST = 1 << 17;

  private static final long MAGIC = 0x504c545452303031L; // PLTTR001
  private static final int HEADER = 8 + 8 + 4;
  private static final int CHECKSUM = 8;

  public Trace {
    blocks = List.copyOf(blocks);
  }

  /** Reads a trace that nobody vouches for. */
  public static Trace decode(byte[] bytes) throws BadImageException {
    if (bytes.length < HEADER + CHECKSUM) {
      throw refused("it has " + bytes.length + " bytes");
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    if (in.getLong() != MAGIC) {
      throw refused("it does not begin as one");
    }
    long virtualSize = in.getLong();
    int count = in.getInt();
    if (virtualSize <= 0 || virtualSize > Base.MOST_BYTES || count < 0 || count > MOST) {
      throw refused("%d blocks of a disk of %d bytes".formatted(count, virtualSize));
    }
    if (bytes.length != HEADER + 4 * count + CHECKSUM) {
      throw refused("%d bytes for %d blocks".formatted(bytes.length, count));
    }
    if (in.getLong(HEADER + 4 * count) != checksum(bytes, HEADER + 4 * count)) {
      throw refused("its checksum is wrong");
    }
    List<Integer> blocks = new ArrayList<>(count);
    var seen = new BitSet();
    long end = Math.ceilDiv(virtualSize, (long) Base.BLOCK);
    for (int i = 0; i < count; i++) {
      int block = in.getInt();
      if (block < 0 || block >= end || seen.get(block)) {
        throw refused("block " + block + " is outside the disk or there twice");
      }
      seen.set(block);
      blocks.add(block);
    }
    return new Trace(virtualSize, blocks);
  }

  public static Trace read(Path file) throws IOException {
    if (Files.size(file) > HEADER + 4L * MOST + CHECKSUM) {
      throw refused("it has " + Files.size(file) + " bytes");
    }
    return decode(Files.readAllBytes(file));
  }

  public byte[] encode() {
    int end = HEADER + 4 * blocks.size();
    ByteBuffer out = ByteBuffer.allocate(end + CHECKSUM);
    out.putLong(MAGIC).putLong(virtualSize).putInt(blocks.size());
    for (int block : blocks) {
      out.putInt(block);
    }
    return out.putLong(checksum(out.array(), end)).array();
  }

  /** The same as {@code push} wants a boot order: as block numbers. */
  public long[] bootOrder() {
    return blocks.stream().mapToLong(Integer::longValue).toArray();
  }

  private static long checksum(byte[] bytes, int length) {
    var crc = new CRC32C();
    crc.update(bytes, 0, length);
    return crc.getValue();
  }

  private static BadImageException refused(String why) {
    return new BadImageException("the boot trace is refused: " + why);
  }
}
