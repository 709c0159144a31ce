package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * The tree of extents of a file. Its root is in the inode. Each node must be one level below the
 * one before and go on in the file where that left off, so that no walk comes twice to the same
 * place.
 */
final class ExtentTree {
  private static final int MAGIC = 0xF30A;
  private static final int ENTRY = 12; // bytes, of the header too
  private static final int MAX_DEPTH = 5;
  private static final int IN_INODE = 4;
  private static final int MAX_LENGTH = 1 << 15; // above that it is not written yet

  private final Superblock superblock;
  private final Blocks blocks;
  private final Inodes inodes;
  private final Allocator allocator;

  ExtentTree(Superblock superblock, Blocks blocks, Inodes inodes, Allocator allocator) {
    this.superblock = superblock;
    this.blocks = blocks;
    this.inodes = inodes;
    this.allocator = allocator;
  }

  void visit(Inode inode, BlockVisitor visitor) throws IOException {
    ByteBuffer root = littleEndian(inode.bytes.slice(Inode.MAP, Inode.MAP_SIZE));
    int depth = root.getShort(6) & 0xFFFF;
    if (depth > MAX_DEPTH) {
      throw bad(inode);
    }
    walk(inode, root, depth, 0, visitor);
  }

  /** Returns where the file goes on. */
  private long walk(Inode inode, ByteBuffer node, int depth, long start, BlockVisitor visitor)
      throws IOException {
    int entries = node.getShort(2) & 0xFFFF;
    int most = node.getShort(4) & 0xFFFF;
    if ((node.getShort(0) & 0xFFFF) != MAGIC
        || (node.getShort(6) & 0xFFFF) != depth
        || most > node.capacity() / ENTRY - 1
        || entries > most) {
      throw bad(inode);
    }
    long next = start;
    for (int i = 1; i <= entries; i++) {
      int at = i * ENTRY;
      long logical = node.getInt(at) & 0xFFFFFFFFL;
      if (logical < next) {
        throw bad(inode);
      }
      next =
          depth == 0
              ? showExtent(node, at, logical, visitor)
              : walkChild(inode, node, at, depth - 1, logical, visitor);
    }
    return next;
  }

  private long showExtent(ByteBuffer node, int at, long logical, BlockVisitor visitor)
      throws IOException {
    int raw = node.getShort(at + 4) & 0xFFFF;
    int length = raw > MAX_LENGTH ? raw - MAX_LENGTH : raw;
    long first = (node.getShort(at + 6) & 0xFFFFL) << 32 | (node.getInt(at + 8) & 0xFFFFFFFFL);
    blocks.check(first);
    blocks.check(first + length - 1);
    visitor.data(logical, first, length);
    return logical + length;
  }

  private long walkChild(
      Inode inode, ByteBuffer node, int at, int depth, long logical, BlockVisitor visitor)
      throws IOException {
    long block = (node.getShort(at + 8) & 0xFFFFL) << 32 | (node.getInt(at + 4) & 0xFFFFFFFFL);
    byte[] bytes = blocks.read(block);
    ByteBuffer child = littleEndian(ByteBuffer.wrap(bytes));
    int tail = (child.getShort(4) & 0xFFFF) * ENTRY + ENTRY;
    if (superblock.metadataChecksums
        && (tail > bytes.length - 4 || child.getInt(tail) != checksum(inode, bytes, tail))) {
      throw Corrupt.because("the checksum of an extent block of inode %d is wrong", inode.number);
    }
    long next = walk(inode, child, depth, logical, visitor);
    // After its children: they are read before their block may be given away.
    visitor.tree(block);
    if (next == logical) {
      throw bad(inode);
    }
    return next;
  }

  private int checksum(Inode inode, byte[] block, int tail) {
    return Crc.crc32c(inodes.seed(inode), block, 0, tail);
  }

  private static BadImageException bad(Inode inode) {
    return Corrupt.because("the extents of inode %d are wrong", inode.number);
  }

  /** Writes a tree into an inode and returns how many blocks it takes beside. */
  int write(Inode inode, long[] data, int goal) throws IOException {
    List<ByteBuffer> entries = extents(data);
    int depth = 0;
    int taken = 0;
    int perBlock = superblock.blockSize / ENTRY - 1;
    while (entries.size() > IN_INODE) {
      List<ByteBuffer> parents = new ArrayList<>();
      for (int i = 0; i < entries.size(); i += perBlock) {
        List<ByteBuffer> part = entries.subList(i, Math.min(i + perBlock, entries.size()));
        long block = allocator.takeBlock(goal);
        byte[] bytes = blocks.fresh(block);
        put(littleEndian(ByteBuffer.wrap(bytes)), part, perBlock, depth);
        if (superblock.metadataChecksums) {
          int tail = perBlock * ENTRY + ENTRY;
          littleEndian(ByteBuffer.wrap(bytes)).putInt(tail, checksum(inode, bytes, tail));
        }
        parents.add(index(part.getFirst().getInt(0), block));
        taken++;
      }
      entries = parents;
      depth++;
    }
    put(littleEndian(inode.bytes.slice(Inode.MAP, Inode.MAP_SIZE)), entries, IN_INODE, depth);
    return taken;
  }

  private static List<ByteBuffer> extents(long[] data) {
    List<ByteBuffer> extents = new ArrayList<>();
    for (int at = 0; at < data.length; ) {
      int length = 1;
      while (length < MAX_LENGTH
          && at + length < data.length
          && data[at + length] == data[at] + length) {
        length++;
      }
      ByteBuffer extent = littleEndian(ByteBuffer.allocate(ENTRY));
      extent.putInt(at).putShort((short) length);
      extents.add(extent.putShort((short) (data[at] >>> 32)).putInt((int) data[at]));
      at += length;
    }
    return extents;
  }

  private static ByteBuffer index(int logical, long block) {
    ByteBuffer index = littleEndian(ByteBuffer.allocate(ENTRY));
    return index.putInt(logical).putInt((int) block).putShort((short) (block >>> 32));
  }

  private static void put(ByteBuffer node, List<ByteBuffer> entries, int most, int depth) {
    node.putShort((short) MAGIC).putShort((short) entries.size());
    node.putShort((short) most).putShort((short) depth).putInt(0);
    entries.forEach(entry -> node.put(entry.clear()));
  }

  private static ByteBuffer littleEndian(ByteBuffer bytes) {
    return bytes.order(ByteOrder.LITTLE_ENDIAN);
  }
}
