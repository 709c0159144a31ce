package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What does not change: the shape of a file system. Everything that others compute with is checked
 * here, so that they may trust it.
 */
final class Superblock {
  static final int OFFSET = 1024;
  static final int SIZE = 1024;
  static final int FREE_BLOCKS_LOW = 0x0C;
  static final int FREE_INODES = 0x10;
  static final int FREE_BLOCKS_HIGH = 0x158;
  static final int CHECKSUM = 0x3FC;

  private static final int MAGIC_AT = 0x38;
  private static final int MAGIC = 0xEF53;
  private static final int CLEAN = 1;
  private static final int ERRORS = 2;

  private final ByteBuffer bytes;
  final int blockSize;
  final long blocks;
  final long firstBlock;
  final int blocksPerGroup;
  final int inodesPerGroup;
  final long inodes;
  final int inodeSize;
  final int firstInode;
  final int descriptorSize;
  final int groups;
  final int compat;
  final int incompat;
  final int roCompat;
  final boolean metadataChecksums;
  final boolean descriptorChecksums;
  final int checksumSeed;

  /** Whether something that looks like an ext file system starts there. */
  static boolean isAt(ByteSource disk, long offset) throws IOException {
    ByteBuffer magic = ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN);
    return disk.readAvailable(magic, offset + OFFSET + MAGIC_AT)
        && (magic.getShort(0) & 0xFFFF) == MAGIC;
  }

  /**
   * @param room how many bytes the file system may have
   */
  static Superblock read(ByteSource disk, long offset, long room) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(SIZE).order(ByteOrder.LITTLE_ENDIAN);
    if (room < OFFSET + SIZE || !disk.readAvailable(bytes, offset + OFFSET)) {
      throw Corrupt.because("there is no room for it");
    }
    return new Superblock(bytes, room);
  }

  private Superblock(ByteBuffer bytes, long room) throws BadImageException {
    this.bytes = bytes;
    boolean dynamic = bytes.getInt(0x4C) >= 1;
    this.compat = dynamic ? bytes.getInt(0x5C) : 0;
    this.incompat = dynamic ? bytes.getInt(0x60) : 0;
    this.roCompat = dynamic ? bytes.getInt(0x64) : 0;
    checkFeatures();

    this.metadataChecksums = (roCompat & Feature.RO_METADATA_CSUM) != 0;
    this.descriptorChecksums = metadataChecksums || (roCompat & Feature.RO_GDT_CSUM) != 0;
    if (metadataChecksums && bytes.getInt(CHECKSUM) != checksum(bytes)) {
      throw Corrupt.because("the checksum of its superblock is wrong");
    }
    this.checksumSeed =
        (incompat & Feature.INCOMPAT_CSUM_SEED) != 0 ? bytes.getInt(0x270) : Crc.crc32c(-1, uuid());

    int log = bytes.getInt(0x18);
    check(log >= 0 && log <= 2, "blocks of 2^%d KiB, where 1 to 4 KiB are supported", log);
    this.blockSize = 1024 << log;
    this.firstBlock = bytes.getInt(0x14);
    check(firstBlock == (log == 0 ? 1 : 0), "its first block is %d", firstBlock);
    long high = (incompat & Feature.INCOMPAT_64BIT) != 0 ? bytes.getInt(0x150) : 0;
    this.blocks = unsigned(0x04) | high << 32;
    check(
        blocks > firstBlock + 8 && blocks <= room / blockSize,
        "it has %d blocks of %d bytes in %d bytes",
        blocks,
        blockSize,
        room);

    this.blocksPerGroup = bytes.getInt(0x20);
    checkPerGroup("blocks", blocksPerGroup);
    this.inodesPerGroup = bytes.getInt(0x28);
    checkPerGroup("inodes", inodesPerGroup);
    long count = Math.ceilDiv(blocks - firstBlock, (long) blocksPerGroup);
    this.inodes = unsigned(0x00);
    check(
        inodes % inodesPerGroup == 0 && inodes / inodesPerGroup == count,
        "it has %d inodes in %d groups of %d",
        inodes,
        count,
        inodesPerGroup);
    this.groups = (int) count;
    this.inodeSize = dynamic ? bytes.getShort(0x58) & 0xFFFF : 128;
    check(
        inodeSize >= 128 && inodeSize <= blockSize && Integer.bitCount(inodeSize) == 1,
        "inodes of %d bytes",
        inodeSize);
    this.firstInode = dynamic ? bytes.getInt(0x54) : 11;
    check(firstInode >= 11 && firstInode <= inodes, "first inode %d", firstInode);
    this.descriptorSize =
        (incompat & Feature.INCOMPAT_64BIT) != 0 ? bytes.getShort(0xFE) & 0xFFFF : 32;
    check(
        (descriptorSize == 32 || (descriptorSize >= 64 && descriptorSize <= 1024))
            && Integer.bitCount(descriptorSize) == 1,
        "group descriptors of %d bytes",
        descriptorSize);
  }

  private void checkFeatures() throws BadImageException {
    int state = bytes.getShort(0x3A);
    if ((incompat & Feature.INCOMPAT_RECOVER) != 0
        || (roCompat & Feature.RO_ORPHAN_PRESENT) != 0
        || (state & CLEAN) == 0
        || bytes.getInt(0xE8) != 0) {
      throw new BadImageException(
          "the ext file system was not unmounted: its journal must be replayed first, by mounting"
              + " it once or by e2fsck");
    }
    if ((state & ERRORS) != 0) {
      throw Corrupt.because("it is marked as having errors");
    }
    if ((roCompat & Feature.RO_BIGALLOC) != 0) {
      throw unsupported("bigalloc (clusters of blocks)");
    }
    if ((roCompat & Feature.RO_QUOTA) != 0) {
      throw unsupported("quota, whose counts would become wrong");
    }
    if ((incompat & ~Feature.INCOMPAT_KNOWN) != 0 || (roCompat & ~Feature.RO_KNOWN) != 0) {
      throw unsupported(
          "incompat 0x%x, ro_compat 0x%x"
              .formatted(incompat & ~Feature.INCOMPAT_KNOWN, roCompat & ~Feature.RO_KNOWN));
    }
  }

  private static BadImageException unsupported(String feature) {
    return new BadImageException(
        "the ext file system has a feature that is not supported: " + feature);
  }

  private void checkPerGroup(String what, int count) throws BadImageException {
    check(count > 0 && count % 8 == 0 && count <= 8 * blockSize, "groups of %d %s", count, what);
  }

  private static void check(boolean right, String otherwise, Object... values)
      throws BadImageException {
    if (!right) {
      throw Corrupt.because(otherwise, values);
    }
  }

  static int checksum(ByteBuffer superblock) {
    byte[] plain = new byte[CHECKSUM];
    superblock.get(0, plain);
    return Crc.crc32c(-1, plain);
  }

  private long unsigned(int at) {
    return bytes.getInt(at) & 0xFFFFFFFFL;
  }

  byte[] uuid() {
    byte[] uuid = new byte[16];
    bytes.get(0x68, uuid);
    return uuid;
  }

  int reservedDescriptorBlocks() {
    return bytes.getShort(0xCE) & 0xFFFF;
  }

  long firstMetaGroup() {
    return unsigned(0x104);
  }

  /** Of the groups that have a copy of the superblock, for {@code sparse_super2}. */
  boolean isBackup(int group) {
    return bytes.getInt(0x24C) == group || bytes.getInt(0x250) == group;
  }

  boolean has(int incompatFeature) {
    return (incompat & incompatFeature) != 0;
  }
}
