package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The older map of a file: twelve pointers in the inode, then blocks of pointers, of pointers to
 * these, and of pointers to those.
 */
final class PointerBlocks {
  private static final int DIRECT = 12;
  private static final int LEVELS = 3;

  private final Blocks blocks;
  private final Allocator allocator;
  private final int perBlock;

  PointerBlocks(Superblock superblock, Blocks blocks, Allocator allocator) {
    this.blocks = blocks;
    this.allocator = allocator;
    this.perBlock = superblock.blockSize / 4;
  }

  void visit(Inode inode, BlockVisitor visitor) throws IOException {
    for (int i = 0; i < DIRECT; i++) {
      visit(0, pointer(inode.bytes, Inode.MAP + 4 * i), i, visitor);
    }
    long logical = DIRECT;
    long reach = perBlock;
    for (int level = 1; level <= LEVELS; level++) {
      int at = Inode.MAP + 4 * (DIRECT + level - 1);
      visit(level, pointer(inode.bytes, at), logical, visitor);
      logical += reach;
      reach *= perBlock;
    }
  }

  private void visit(int level, long block, long logical, BlockVisitor visitor) throws IOException {
    if (block == 0) {
      return;
    }
    if (level == 0) {
      visitor.data(logical, blocks.check(block), 1);
      return;
    }
    ByteBuffer pointers = littleEndian(blocks.read(block));
    long reach = reach(level - 1);
    for (int i = 0; i < perBlock; i++) {
      visit(level - 1, pointer(pointers, 4 * i), logical + i * reach, visitor);
    }
    visitor.tree(block);
  }

  private long reach(int level) {
    long reach = 1;
    for (int i = 0; i < level; i++) {
      reach *= perBlock;
    }
    return reach;
  }

  /** Writes pointers into an inode and returns how many blocks they take beside. */
  int write(Inode inode, long[] data, int goal) throws IOException {
    for (int i = 0; i < Math.min(DIRECT, data.length); i++) {
      inode.bytes.putInt(Inode.MAP + 4 * i, narrow(data[i]));
    }
    int taken = 0;
    int at = DIRECT;
    for (int level = 1; at < data.length; level++) {
      int end = (int) Math.min(data.length, at + reach(level));
      long block = allocator.takeBlock(goal);
      inode.bytes.putInt(Inode.MAP + 4 * (DIRECT + level - 1), narrow(block));
      taken += 1 + fill(level, block, data, at, end, goal);
      at = end;
    }
    return taken;
  }

  private int fill(int level, long block, long[] data, int from, int to, int goal)
      throws IOException {
    ByteBuffer pointers = littleEndian(blocks.fresh(block));
    int step = (int) reach(level - 1);
    int taken = 0;
    for (int at = from; at < to; at += step) {
      if (level == 1) {
        pointers.putInt(narrow(data[at]));
      } else {
        long child = allocator.takeBlock(goal);
        pointers.putInt(narrow(child));
        taken += 1 + fill(level - 1, child, data, at, Math.min(to, at + step), goal);
      }
    }
    return taken;
  }

  private static int narrow(long block) throws BadImageException {
    if (block >>> 32 != 0) {
      throw new BadImageException(
          "the ext file system is too large for files without extents: block " + block);
    }
    return (int) block;
  }

  private static long pointer(ByteBuffer pointers, int at) {
    return pointers.getInt(at) & 0xFFFFFFFFL;
  }

  private static ByteBuffer littleEndian(byte[] block) {
    return ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
  }
}
