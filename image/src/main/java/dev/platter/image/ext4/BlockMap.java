package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.io.IOException;

/**
 * Which blocks a file has. What is there is read in either form, extents or lists of pointers; what
 * is new is written whole, with extents if the file system has them.
 */
final class BlockMap {
  private final Superblock superblock;
  private final Allocator allocator;
  private final ExtentTree extents;
  private final PointerBlocks pointers;

  BlockMap(Superblock superblock, Blocks blocks, Inodes inodes, Allocator allocator) {
    this.superblock = superblock;
    this.allocator = allocator;
    this.extents = new ExtentTree(superblock, blocks, inodes, allocator);
    this.pointers = new PointerBlocks(superblock, blocks, allocator);
  }

  private void visit(Inode inode, BlockVisitor visitor) throws IOException {
    if (inode.has(Inode.EXTENTS)) {
      extents.visit(inode, visitor);
    } else {
      pointers.visit(inode, visitor);
    }
  }

  /** All blocks of something that must have each of {@code count}, and no more. */
  long[] blocks(Inode inode, int count) throws IOException {
    long[] found = new long[count];
    visit(
        inode,
        new BlockVisitor() {
          @Override
          public void data(long logical, long first, int length) throws BadImageException {
            if (logical + length > count) {
              throw Corrupt.because("inode %d has blocks past its end", inode.number);
            }
            for (int i = 0; i < length; i++) {
              found[(int) logical + i] = first + i;
            }
          }

          @Override
          public void tree(long block) {}
        });
    for (long block : found) {
      if (block == 0) {
        throw Corrupt.because("inode %d lacks a block", inode.number);
      }
    }
    return found;
  }

  /** Makes it a file of other blocks; those that it had before are the caller's. */
  void write(Inode inode, long[] blocks) throws IOException {
    int goal = allocator.groupOf(inode.number);
    inode.bytes.put(Inode.MAP, new byte[Inode.MAP_SIZE]);
    int others;
    if (superblock.has(Feature.INCOMPAT_EXTENTS)) {
      inode.flags(inode.flags() | Inode.EXTENTS);
      others = extents.write(inode, blocks, goal);
    } else {
      inode.flags(inode.flags() & ~Inode.EXTENTS);
      others = pointers.write(inode, blocks, goal);
    }
    inode.blocks((long) blocks.length + others, superblock.blockSize);
  }

  /** Returns all blocks of a file. */
  void free(Inode inode) throws IOException {
    free(inode, true);
  }

  /** Returns the blocks that point to others, for a map that is written anew. */
  void freeTree(Inode inode) throws IOException {
    free(inode, false);
  }

  private void free(Inode inode, boolean data) throws IOException {
    visit(
        inode,
        new BlockVisitor() {
          @Override
          public void data(long logical, long first, int count) throws IOException {
            if (data) {
              allocator.returnBlocks(first, count);
            }
          }

          @Override
          public void tree(long block) throws IOException {
            allocator.returnBlocks(block, 1);
          }
        });
  }
}
