package dev.platter.image.rootfs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The superblock. Nothing in it tells when or where it was made. */
final class SuperblockBytes {
  private static final int HAS_JOURNAL = 0x4;
  private static final int EXT_ATTR = 0x8;
  private static final int DIR_INDEX = 0x20;
  private static final int SPARSE_SUPER2 = 0x200;

  private static final int FILETYPE = 0x2;
  private static final int EXTENTS = 0x40;
  private static final int FLEX_BG = 0x200;

  private static final int LARGE_FILE = 0x2;
  private static final int DIR_NLINK = 0x20;
  private static final int EXTRA_ISIZE = 0x40;

  private static final int USER_XATTR_AND_ACL = 0xC;
  private static final long ID_HIGH = 0x706C61747465724CL;
  private static final long ID_LOW = 0x8C6F6E7461696E31L;

  private SuperblockBytes() {}

  static void write(ByteBuffer into, int freeBlocks, int freeInodes) {
    var sb = into.order(ByteOrder.LITTLE_ENDIAN);
    sb.putInt(0x00, Geometry.INODES).putInt(0x04, Geometry.BLOCKS);
    sb.putInt(0x0C, freeBlocks).putInt(0x10, freeInodes);
    sb.putInt(0x18, 2).putInt(0x1C, 2); // blocks and clusters of 1024 << 2 bytes
    sb.putInt(0x20, Geometry.BLOCKS_PER_GROUP).putInt(0x24, Geometry.BLOCKS_PER_GROUP);
    sb.putInt(0x28, Geometry.INODES_PER_GROUP);
    sb.putShort(0x36, (short) -1); // no check after so many mounts
    sb.putShort(0x38, (short) 0xEF53).putShort(0x3A, (short) 1).putShort(0x3C, (short) 1);
    sb.putInt(0x4C, 1);
    sb.putInt(0x54, Geometry.FIRST_INODE).putShort(0x58, (short) Geometry.INODE);
    sb.putInt(0x5C, HAS_JOURNAL | EXT_ATTR | DIR_INDEX | SPARSE_SUPER2);
    sb.putInt(0x60, FILETYPE | EXTENTS | FLEX_BG);
    sb.putInt(0x64, LARGE_FILE | DIR_NLINK | EXTRA_ISIZE);
    id(sb, 0x68);
    sb.putInt(0xE0, Geometry.JOURNAL_INODE);
    id(sb, 0xEC); // of the hashes of names
    sb.put(0xFC, (byte) 1);
    sb.putInt(0x100, USER_XATTR_AND_ACL);
    sb.putShort(0x15C, (short) 32).putShort(0x15E, (short) 32);
    sb.putInt(0x160, 1); // hashes take characters as signed
    sb.put(0x174, (byte) 4); // groups of 1 << 4 groups
    var journal = ByteBuffer.allocate(Geometry.INODE).order(ByteOrder.LITTLE_ENDIAN);
    try {
      InodeBytes.write(InodeBytes.journal(), journal);
    } catch (java.io.IOException e) {
      throw new AssertionError("the journal has no attributes", e);
    }
    sb.put(0xFD, (byte) 1).put(0x10C, journal.array(), 0x28, 60);
    sb.putInt(0x10C + 64, journal.getInt(4));
  }

  private static void id(ByteBuffer sb, int at) {
    sb.slice(at, 16).order(ByteOrder.BIG_ENDIAN).putLong(ID_HIGH).putLong(ID_LOW);
  }
}
