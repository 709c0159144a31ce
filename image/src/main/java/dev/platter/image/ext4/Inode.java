package dev.platter.image.ext4;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The bytes of one inode, apart from the file system until {@link Inodes#write} puts them back. */
final class Inode {
  static final int KIND = 0170000;
  static final int DIRECTORY = 0040000;
  static final int REGULAR = 0100000;
  static final int LINK = 0120000;

  static final int ENCRYPTED = 0x800;
  static final int INDEXED = 0x1000;
  static final int HUGE = 0x40000;
  static final int EXTENTS = 0x80000;
  static final int VERITY = 0x100000;
  static final int EA_INODE = 0x200000;
  static final int EOF_BLOCKS = 0x400000;
  static final int INLINE_DATA = 0x10000000;
  static final int CASEFOLD = 0x40000000;

  /** Where the pointers to its blocks are, or the text of a short link. */
  static final int MAP = 0x28;

  static final int MAP_SIZE = 60;

  private static final int SECTOR = 512;
  private static final int MIN_SIZE = 128;
  private static final int EXTRA = 32;

  final long number;
  final ByteBuffer bytes;

  Inode(long number, byte[] bytes) {
    this.number = number;
    this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A new one, with the newer fields if it has room for them. */
  static Inode fresh(long number, int size) {
    var inode = new Inode(number, new byte[size]);
    if (size > MIN_SIZE) {
      inode.bytes.putShort(0x80, (short) EXTRA);
    }
    return inode;
  }

  int mode() {
    return bytes.getShort(0) & 0xFFFF;
  }

  int kind() {
    return mode() & KIND;
  }

  void own(int kind, int permissions, int uid, int gid) {
    bytes.putShort(0x00, (short) (kind | permissions));
    bytes.putShort(0x02, (short) uid).putShort(0x78, (short) (uid >>> 16));
    bytes.putShort(0x18, (short) gid).putShort(0x7A, (short) (gid >>> 16));
  }

  long size() {
    return (long) bytes.getInt(0x6C) << 32 | (bytes.getInt(0x04) & 0xFFFFFFFFL);
  }

  void size(long size) {
    bytes.putInt(0x04, (int) size).putInt(0x6C, (int) (size >>> 32));
  }

  int links() {
    return bytes.getShort(0x1A) & 0xFFFF;
  }

  void links(int links) {
    bytes.putShort(0x1A, (short) links);
  }

  int flags() {
    return bytes.getInt(0x20);
  }

  boolean has(int flag) {
    return (flags() & flag) != 0;
  }

  void flags(int flags) {
    bytes.putInt(0x20, flags);
  }

  int generation() {
    return bytes.getInt(0x64);
  }

  boolean hasAttributeBlock() {
    return bytes.getInt(0x68) != 0 || bytes.getShort(0x76) != 0;
  }

  /** Whether it has no block of its own but maybe one for attributes. */
  boolean hasNoBlocks(int blockSize) {
    long sectors = (bytes.getShort(0x74) & 0xFFFFL) << 32 | (bytes.getInt(0x1C) & 0xFFFFFFFFL);
    return sectors == (hasAttributeBlock() ? blockSize / SECTOR : 0);
  }

  /**
   * @param count data and the blocks that point to them; one for attributes comes on top
   */
  void blocks(long count, int blockSize) {
    long sectors = (count + (hasAttributeBlock() ? 1 : 0)) * (blockSize / SECTOR);
    bytes.putInt(0x1C, (int) sectors).putShort(0x74, (short) (sectors >>> 32));
  }

  /** Content and attributes changed. */
  void touch(long seconds) {
    putTime(0x0C, 0x84, seconds);
    putTime(0x10, 0x88, seconds);
  }

  void made(long seconds) {
    touch(seconds);
    putTime(0x08, 0x8C, seconds);
    if (covers(0x98)) {
      putTime(0x90, 0x94, seconds);
    }
  }

  /** 34 bits of seconds; where there is no room for the upper two, 2038 is the end of time. */
  private void putTime(int at, int more, long seconds) {
    boolean wide = covers(more + 4);
    int low = (int) (wide ? seconds : Math.min(seconds, Integer.MAX_VALUE));
    bytes.putInt(at, low);
    if (wide) {
      bytes.putInt(more, (int) ((seconds - low) >>> 32) & 3);
    }
  }

  /** Whether the newer fields reach so far. */
  boolean covers(int end) {
    return bytes.capacity() >= end
        && bytes.capacity() > MIN_SIZE
        && MIN_SIZE + (bytes.getShort(0x80) & 0xFFFF) >= end;
  }
}
