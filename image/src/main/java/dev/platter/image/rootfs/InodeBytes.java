package dev.platter.image.rootfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Inodes and extents as ext4 has them. */
final class InodeBytes {
  /** What a link may have to lie in the inode itself, and one byte more. */
  static final int MAP_SIZE = 60;

  private static final int MAP = 0x28;
  private static final int EXTRA = 32;
  private static final int ATTRIBUTES = 128 + EXTRA;

  /** The room for extended attributes. */
  static final int ATTRIBUTES_SIZE = Geometry.INODE - ATTRIBUTES;

  private static final int EXTENTS_FLAG = 0x80000;
  private static final short EXTENT_MAGIC = (short) 0xF30A;
  private static final int MOST_IN_INODE = 4;
  private static final int MOST_IN_BLOCK = (Geometry.BLOCK - 12) / 12;
  private static final int EXTENT = 1 << 15;
  private static final int MOST_LINKS = 65_000;
  private static final int SECTORS = Geometry.BLOCK / 512;
  private static final long EARLIEST = Integer.MIN_VALUE;
  private static final long LATEST = EARLIEST + (1L << 34) - 1;

  private InodeBytes() {}

  /**
   * @param into where the inode is, zeros so far
   */
  static void write(FileNode node, ByteBuffer into) throws IOException {
    var bytes = into.order(ByteOrder.LITTLE_ENDIAN);
    bytes.putShort(0x00, (short) node.mode);
    bytes.putShort(0x02, (short) node.uid).putShort(0x78, (short) (node.uid >>> 16));
    bytes.putShort(0x18, (short) node.gid).putShort(0x7A, (short) (node.gid >>> 16));
    bytes.putInt(0x04, (int) node.size).putInt(0x6C, (int) (node.size >>> 32));
    bytes.putShort(0x80, (short) EXTRA);
    times(node, bytes);
    bytes.putShort(0x1A, (short) links(node));
    int blocks = node.blocks + (node.extents > 0 ? 1 : 0) + (node.attributes > 0 ? 1 : 0);
    bytes.putInt(0x1C, blocks * SECTORS);
    bytes.putInt(0x68, node.attributes);
    map(node, bytes);
    if (!node.xattrs.isEmpty() && node.attributes == 0) {
      AttributeBytes.inInode(node.xattrs, bytes.slice(ATTRIBUTES, ATTRIBUTES_SIZE));
    }
  }

  /** Times before and after what an inode can say are the earliest and the latest. */
  private static void times(FileNode node, ByteBuffer bytes) {
    long seconds = Math.clamp(node.seconds, EARLIEST, LATEST);
    int epoch = (int) ((seconds - (int) seconds) >> 32) & 3;
    for (int field : new int[] {0x08, 0x0C, 0x10, 0x90}) {
      bytes.putInt(field, (int) seconds);
    }
    for (int field : new int[] {0x84, 0x88, 0x8C, 0x94}) {
      bytes.putInt(field, (node.nanos << 2) | epoch);
    }
  }

  /** A directory has a name, its own and one in each directory below. */
  private static int links(FileNode node) {
    if (!node.isDirectory()) {
      return node.links;
    }
    long below = node.children.values().stream().filter(FileNode::isDirectory).count();
    return below + 2 > MOST_LINKS ? 1 : (int) below + 2;
  }

  private static void map(FileNode node, ByteBuffer bytes) {
    switch (node.kind()) {
      case FileNode.CHARACTERS, FileNode.BLOCKS -> {
        boolean old = node.major < 256 && node.minor < 256;
        int number = (node.minor & 0xFF) | (node.major << 8) | ((node.minor & ~0xFF) << 12);
        bytes.putInt(old ? MAP : MAP + 4, number);
      }
      case FileNode.LINK -> {
        if (node.blocks == 0) {
          bytes.put(MAP, node.target.getBytes(UTF_8));
        } else {
          extents(node, bytes);
        }
      }
      case FileNode.FILE, FileNode.DIRECTORY -> extents(node, bytes);
      default -> {}
    }
  }

  private static void extents(FileNode node, ByteBuffer bytes) {
    bytes.putInt(0x20, EXTENTS_FLAG);
    if (node.extents == 0) {
      extents(node, bytes, MAP, MOST_IN_INODE);
      return;
    }
    header(bytes, MAP, 1, MOST_IN_INODE, 1);
    bytes.putInt(MAP + 12, 0).putInt(MAP + 16, node.extents);
  }

  /** Whether a file has more blocks in a row than the extents in its inode can name. */
  static boolean needsBlock(FileNode node) {
    return node.blocks > MOST_IN_INODE * EXTENT;
  }

  /** The block that has them otherwise: more than enough for the largest file. */
  static byte[] extentBlock(FileNode node) {
    var bytes = ByteBuffer.allocate(Geometry.BLOCK).order(ByteOrder.LITTLE_ENDIAN);
    extents(node, bytes, 0, MOST_IN_BLOCK);
    return bytes.array();
  }

  private static void extents(FileNode node, ByteBuffer bytes, int at, int most) {
    int count = Math.ceilDiv(node.blocks, EXTENT);
    header(bytes, at, count, most, 0);
    for (int i = 0; i < count; i++) {
      int entry = at + 12 + 12 * i;
      int length = Math.min(EXTENT, node.blocks - i * EXTENT);
      bytes.putInt(entry, i * EXTENT).putShort(entry + 4, (short) length);
      bytes.putInt(entry + 8, node.first + i * EXTENT);
    }
  }

  private static void header(ByteBuffer bytes, int at, int count, int most, int depth) {
    bytes.putShort(at, EXTENT_MAGIC).putShort(at + 2, (short) count);
    bytes.putShort(at + 4, (short) most).putShort(at + 6, (short) depth);
  }

  /** The journal is a file too. */
  static FileNode journal() {
    var journal = new FileNode(Geometry.JOURNAL_INODE, FileNode.FILE | 0600);
    journal.links = 1;
    journal.first = Geometry.JOURNAL;
    journal.blocks = Geometry.JOURNAL_BLOCKS;
    journal.size = (long) Geometry.JOURNAL_BLOCKS * Geometry.BLOCK;
    return journal;
  }
}
