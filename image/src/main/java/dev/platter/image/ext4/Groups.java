package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;

/**
 * The group descriptors. One that is looked at for the first time must match its checksum; those
 * that changed get theirs from {@link #seal}.
 */
final class Groups {
  static final int INODE_UNINIT = 1;
  static final int BLOCK_UNINIT = 2;

  private static final int BLOCK_BITMAP = 0x00;
  private static final int INODE_BITMAP = 0x04;
  private static final int INODE_TABLE = 0x08;
  private static final int FREE_BLOCKS = 0x0C;
  private static final int FREE_INODES = 0x0E;
  private static final int USED_DIRS = 0x10;
  private static final int FLAGS = 0x12;
  private static final int BLOCK_BITMAP_CHECKSUM = 0x18;
  private static final int INODE_BITMAP_CHECKSUM = 0x1A;
  private static final int UNUSED_INODES = 0x1C;
  private static final int CHECKSUM = 0x1E;

  /** From a field of the first 32 bytes to its upper half; that of pointers differs by a word. */
  private static final int HIGH = 0x20;

  private final Superblock superblock;
  private final Blocks blocks;
  private final GroupLayout layout;
  private final BitSet changed = new BitSet();

  Groups(Superblock superblock, Blocks blocks, GroupLayout layout) {
    this.superblock = superblock;
    this.blocks = blocks;
    this.layout = layout;
  }

  long blockBitmap(int group) throws IOException {
    return pointer(group, BLOCK_BITMAP);
  }

  long inodeBitmap(int group) throws IOException {
    return pointer(group, INODE_BITMAP);
  }

  /** The first block of the inodes; all of them are within the file system. */
  long inodeTable(int group) throws IOException {
    long first = pointer(group, INODE_TABLE);
    blocks.check(first + layout.inodeTableBlocks() - 1);
    return first;
  }

  int freeBlocks(int group) throws IOException {
    return number(group, FREE_BLOCKS, 0x2C);
  }

  int freeInodes(int group) throws IOException {
    return number(group, FREE_INODES, 0x2E);
  }

  void addFreeBlocks(int group, int delta) throws IOException {
    add(group, FREE_BLOCKS, 0x2C, delta, superblock.blocksPerGroup);
  }

  void addFreeInodes(int group, int delta) throws IOException {
    add(group, FREE_INODES, 0x2E, delta, superblock.inodesPerGroup);
  }

  void addDirectory(int group) throws IOException {
    add(group, USED_DIRS, 0x30, 1, superblock.inodesPerGroup);
  }

  /** How many inodes at the end of the table were never used and may be garbage. */
  int unusedInodes(int group) throws IOException {
    int unused = superblock.descriptorChecksums ? number(group, UNUSED_INODES, 0x32) : 0;
    return Math.min(unused, superblock.inodesPerGroup);
  }

  void unusedInodes(int group, int unused) throws IOException {
    put(group, UNUSED_INODES, 0x32, unused);
  }

  boolean has(int group, int flag) throws IOException {
    return superblock.descriptorChecksums && (at(group).getShort(FLAGS) & flag) != 0;
  }

  void clear(int group, int flag) throws IOException {
    ByteBuffer descriptor = edit(group);
    descriptor.putShort(FLAGS, (short) (descriptor.getShort(FLAGS) & ~flag));
  }

  /** Whether the bitmap is as its checksum says. */
  boolean isBlockBitmap(int group, byte[] bitmap) throws IOException {
    return !superblock.metadataChecksums
        || number(group, BLOCK_BITMAP_CHECKSUM, 0x38)
            == kept(checksum(bitmap, superblock.blocksPerGroup));
  }

  boolean isInodeBitmap(int group, byte[] bitmap) throws IOException {
    return !superblock.metadataChecksums
        || number(group, INODE_BITMAP_CHECKSUM, 0x3A)
            == kept(checksum(bitmap, superblock.inodesPerGroup));
  }

  void putBlockBitmapChecksum(int group, byte[] bitmap) throws IOException {
    if (superblock.metadataChecksums) {
      put(group, BLOCK_BITMAP_CHECKSUM, 0x38, checksum(bitmap, superblock.blocksPerGroup));
    }
  }

  void putInodeBitmapChecksum(int group, byte[] bitmap) throws IOException {
    if (superblock.metadataChecksums) {
      put(group, INODE_BITMAP_CHECKSUM, 0x3A, checksum(bitmap, superblock.inodesPerGroup));
    }
  }

  private int checksum(byte[] bitmap, int bits) {
    return Crc.crc32c(superblock.checksumSeed, bitmap, 0, bits / 8);
  }

  private int kept(int checksum) {
    return superblock.descriptorSize >= 64 ? checksum : checksum & 0xFFFF;
  }

  /** Gives all changed descriptors their checksums. */
  void seal() throws IOException {
    if (superblock.descriptorChecksums) {
      for (int group = changed.nextSetBit(0); group >= 0; group = changed.nextSetBit(group + 1)) {
        ByteBuffer descriptor = edit(group);
        descriptor.putShort(CHECKSUM, (short) checksum(group, descriptor));
      }
    }
  }

  private int checksum(int group, ByteBuffer descriptor) {
    byte[] bytes = new byte[superblock.descriptorSize];
    descriptor.get(0, bytes);
    bytes[CHECKSUM] = 0;
    bytes[CHECKSUM + 1] = 0;
    if (superblock.metadataChecksums) {
      return Crc.crc32c(Crc.crc32c(superblock.checksumSeed, group), bytes) & 0xFFFF;
    }
    int crc = Crc.crc16(0xFFFF, superblock.uuid(), 0, 16);
    crc = Crc.crc16(crc, Crc.littleEndian(group), 0, 4);
    crc = Crc.crc16(crc, bytes, 0, CHECKSUM);
    return Crc.crc16(crc, bytes, CHECKSUM + 2, bytes.length - CHECKSUM - 2);
  }

  private long pointer(int group, int field) throws IOException {
    ByteBuffer descriptor = at(group);
    long high = wide() ? descriptor.getInt(field + HIGH) : 0;
    return blocks.check(high << 32 | (descriptor.getInt(field) & 0xFFFFFFFFL));
  }

  private int number(int group, int low, int high) throws IOException {
    ByteBuffer descriptor = at(group);
    int upper = wide() ? descriptor.getShort(high) : 0;
    return upper << 16 | (descriptor.getShort(low) & 0xFFFF);
  }

  private void put(int group, int low, int high, int value) throws IOException {
    ByteBuffer descriptor = edit(group);
    descriptor.putShort(low, (short) value);
    if (wide()) {
      descriptor.putShort(high, (short) (value >>> 16));
    }
  }

  private void add(int group, int low, int high, int delta, int most) throws IOException {
    long value = (long) number(group, low, high) + delta;
    if (value < 0 || value > most) {
      throw Corrupt.because("a count of group %d is wrong", group);
    }
    put(group, low, high, (int) value);
  }

  private boolean wide() {
    return superblock.descriptorSize >= 64;
  }

  private ByteBuffer at(int group) throws IOException {
    ByteBuffer descriptor = slice(blocks.read(layout.descriptorBlock(group)), group);
    if (superblock.descriptorChecksums && !changed.get(group)) {
      verify(group, descriptor);
    }
    return descriptor;
  }

  private void verify(int group, ByteBuffer descriptor) throws BadImageException {
    if ((descriptor.getShort(CHECKSUM) & 0xFFFF) != checksum(group, descriptor)) {
      throw Corrupt.because("the checksum of the descriptor of group %d is wrong", group);
    }
  }

  private ByteBuffer edit(int group) throws IOException {
    if (!changed.get(group)) {
      at(group); // as it is, it must be right
      changed.set(group);
    }
    return slice(blocks.edit(layout.descriptorBlock(group)), group);
  }

  private ByteBuffer slice(byte[] block, int group) {
    int size = superblock.descriptorSize;
    int at = group % (block.length / size) * size;
    return ByteBuffer.wrap(block).slice(at, size).order(ByteOrder.LITTLE_ENDIAN);
  }
}
