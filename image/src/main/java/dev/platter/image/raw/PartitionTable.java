package dev.platter.image.raw;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The first sector of a disk that has one Linux partition. */
public final class PartitionTable {
  /** Where the partition starts: where every partitioning tool of today puts the first one. */
  public static final long FIRST_PARTITION = 1 << 20;

  /** What 32-bit sector numbers reach. */
  public static final long MAX_DISK = 2L << 40;

  private static final int SECTOR = 512;
  private static final int SIGNATURE = 440;
  private static final int ENTRIES = 446;
  private static final int LINUX = 0x83;
  private static final int HEADS = 255;
  private static final int SECTORS_PER_TRACK = 63;

  private PartitionTable() {}

  /** The bytes of the partition: from 1 MiB to the last whole sector of the disk. */
  public static long partitionSize(long diskSize) {
    return diskSize / SECTOR * SECTOR - FIRST_PARTITION;
  }

  /**
   * A master boot record with one partition and nothing that boots.
   *
   * @param signature by which a guest tells disks apart ({@code PARTUUID})
   */
  public static byte[] mbr(long diskSize, int signature) {
    if (diskSize < FIRST_PARTITION + SECTOR || diskSize > MAX_DISK) {
      throw new IllegalArgumentException(
          "a disk of %d bytes: for a partition it must have %d to %d"
              .formatted(diskSize, FIRST_PARTITION + SECTOR, MAX_DISK));
    }
    long first = FIRST_PARTITION / SECTOR;
    long count = partitionSize(diskSize) / SECTOR;
    ByteBuffer mbr = ByteBuffer.allocate(SECTOR).order(ByteOrder.LITTLE_ENDIAN);
    mbr.putInt(SIGNATURE, signature).position(ENTRIES);
    mbr.put((byte) 0); // not active
    putChs(mbr, first);
    mbr.put((byte) LINUX);
    putChs(mbr, first + count - 1);
    mbr.putInt((int) first).putInt((int) count);
    mbr.putShort(SECTOR - 2, (short) 0xAA55);
    return mbr.array();
  }

  /** Cylinder, head and sector, or the value that says that they do not reach so far. */
  private static void putChs(ByteBuffer mbr, long sector) {
    long cylinder = sector / (HEADS * SECTORS_PER_TRACK);
    int head = (int) (sector / SECTORS_PER_TRACK % HEADS);
    int inTrack = (int) (sector % SECTORS_PER_TRACK) + 1;
    if (cylinder > 1023) {
      cylinder = 1023;
      head = HEADS - 1;
      inTrack = SECTORS_PER_TRACK;
    }
    mbr.put((byte) head).put((byte) (inTrack | cylinder >> 8 << 6)).put((byte) cylinder);
  }
}
