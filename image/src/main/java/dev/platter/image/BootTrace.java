package dev.platter.image;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Which blocks of a disk a booting guest reads, in the order in which it first does. Advice: it
 * decides where blocks lie in a layer, never what is in them.
 *
 * <p>As a file, in little endian:
 *
 * <pre>
 *   "PLTRACE1" | int32 block size, 65536 | int64 size of the disk | int32 count | count int32 blocks
 * </pre>
 *
 * <p>Refused: a block outside the disk, a block twice, bytes after the last one, and more blocks
 * than any guest reads before it is up.
 */
public final class BootTrace {
  /** What one number stands for, in bytes of the disk. */
  public static final int BLOCK = 1 << 16;

  /** 64 GiB of a disk; a trace has no more blocks. */
  public static final int MAX_BLOCKS = 1 << 20;

  private static final byte[] MAGIC = "PLTRACE1".getBytes(StandardCharsets.US_ASCII);
  private static final int HEADER = MAGIC.length + 4 + 8 + 4;
  private static final long MAX_VIRTUAL_SIZE = (long) Integer.MAX_VALUE * BLOCK;

  private final long virtualSize;
  private final int[] blocks;

  private BootTrace(long virtualSize, int[] blocks) {
    this.virtualSize = virtualSize;
    this.blocks = blocks;
  }

  /**
   * @param virtualSize of the disk, in bytes
   * @param blocks numbers of 64 KiB blocks, each once
   */
  public static BootTrace of(long virtualSize, int... blocks) throws BadImageException {
    if (virtualSize < 1 || virtualSize > MAX_VIRTUAL_SIZE) {
      throw refused("it is of a disk of " + virtualSize + " bytes");
    }
    if (blocks.length > MAX_BLOCKS) {
      throw refused("it has " + blocks.length + " blocks, " + MAX_BLOCKS + " is the most");
    }
    int[] sorted = blocks.clone();
    Arrays.sort(sorted);
    long end = Math.ceilDiv(virtualSize, (long) BLOCK);
    if (sorted.length > 0 && (sorted[0] < 0 || sorted[sorted.length - 1] >= end)) {
      int outside = sorted[0] < 0 ? sorted[0] : sorted[sorted.length - 1];
      throw refused("block " + outside + " is outside the disk, which has " + end);
    }
    for (int i = 1; i < sorted.length; i++) {
      if (sorted[i] == sorted[i - 1]) {
        throw refused("block " + sorted[i] + " is there twice");
      }
    }
    return new BootTrace(virtualSize, blocks.clone());
  }

  public static BootTrace read(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return parse(in.readNBytes(HEADER + 4 * MAX_BLOCKS + 1));
    }
  }

  public static BootTrace parse(byte[] bytes) throws BadImageException {
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.length < HEADER || !Arrays.equals(bytes, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw refused("it does not begin as one");
    }
    int blockSize = in.position(MAGIC.length).getInt();
    if (blockSize != BLOCK) {
      throw refused("its blocks have " + blockSize + " bytes, not " + BLOCK);
    }
    long virtualSize = in.getLong();
    int count = in.getInt();
    if (count < 0 || count > MAX_BLOCKS) {
      throw refused("it has " + count + " blocks, " + MAX_BLOCKS + " is the most");
    }
    if (in.remaining() != 4L * count) {
      throw refused("it has %d bytes for %d blocks".formatted(in.remaining(), count));
    }
    int[] blocks = new int[count];
    in.asIntBuffer().get(blocks);
    return of(virtualSize, blocks);
  }

  private static BadImageException refused(String why) {
    return new BadImageException("this is no boot trace: " + why);
  }

  /** The file; the same trace has the same bytes. */
  public byte[] toBytes() {
    ByteBuffer out = ByteBuffer.allocate(HEADER + 4 * blocks.length).order(ByteOrder.LITTLE_ENDIAN);
    out.put(MAGIC).putInt(BLOCK).putLong(virtualSize).putInt(blocks.length);
    out.asIntBuffer().put(blocks);
    return out.array();
  }

  /** Of the disk, in bytes. */
  public long virtualSize() {
    return virtualSize;
  }

  /** In order of the first touch. */
  public int[] blocks() {
    return blocks.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof BootTrace trace
        && virtualSize == trace.virtualSize
        && Arrays.equals(blocks, trace.blocks);
  }

  @Override
  public int hashCode() {
    return 31 * Long.hashCode(virtualSize) + Arrays.hashCode(blocks);
  }

  @Override
  public String toString() {
    return "boot trace of %d blocks of a disk of %d bytes".formatted(blocks.length, virtualSize);
  }
}
