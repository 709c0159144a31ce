package dev.platter.image.ext4;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The bitmaps of groups that are changed. One that was never written to the disk is made as the
 * kernel makes it, from what lies in the group; one that was must match its checksum.
 */
final class Bitmaps {
  private final Superblock superblock;
  private final Blocks blocks;
  private final Groups groups;
  private final GroupLayout layout;
  private final Map<Integer, byte[]> blockBitmaps = new HashMap<>();
  private final Map<Integer, byte[]> inodeBitmaps = new HashMap<>();

  Bitmaps(Superblock superblock, Blocks blocks, Groups groups, GroupLayout layout) {
    this.superblock = superblock;
    this.blocks = blocks;
    this.groups = groups;
    this.layout = layout;
  }

  /** The blocks in use of a group, to be changed. */
  byte[] ofBlocks(int group) throws IOException {
    byte[] known = blockBitmaps.get(group);
    if (known != null) {
      return known;
    }
    long at = groups.blockBitmap(group);
    byte[] bitmap;
    if (groups.has(group, Groups.BLOCK_UNINIT)) {
      bitmap = blocks.fresh(at);
      markFixed(group, bitmap);
      groups.clear(group, Groups.BLOCK_UNINIT);
    } else {
      bitmap = blocks.edit(at);
      if (!groups.isBlockBitmap(group, bitmap)) {
        throw Corrupt.because("the checksum of the block bitmap of group %d is wrong", group);
      }
    }
    blockBitmaps.put(group, bitmap);
    return bitmap;
  }

  /** The inodes in use of a group, to be changed. */
  byte[] ofInodes(int group) throws IOException {
    byte[] known = inodeBitmaps.get(group);
    if (known != null) {
      return known;
    }
    long at = groups.inodeBitmap(group);
    byte[] bitmap;
    if (groups.has(group, Groups.INODE_UNINIT)) {
      bitmap = blocks.fresh(at);
      Bits.set(bitmap, superblock.inodesPerGroup, 8 * bitmap.length);
      groups.clear(group, Groups.INODE_UNINIT);
    } else {
      bitmap = blocks.edit(at);
      if (!groups.isInodeBitmap(group, bitmap)) {
        throw Corrupt.because("the checksum of the inode bitmap of group %d is wrong", group);
      }
    }
    inodeBitmaps.put(group, bitmap);
    return bitmap;
  }

  private void markFixed(int group, byte[] bitmap) throws IOException {
    int here = layout.blocksIn(group);
    mark(group, bitmap, layout.firstBlock(group), layout.fixedBlocks(group));
    mark(group, bitmap, groups.blockBitmap(group), 1);
    mark(group, bitmap, groups.inodeBitmap(group), 1);
    mark(group, bitmap, groups.inodeTable(group), layout.inodeTableBlocks());
    Bits.set(bitmap, here, 8 * bitmap.length);
    if (Bits.countClear(bitmap, here) != groups.freeBlocks(group)) {
      throw Corrupt.because("group %d is said to be untouched, and is not", group);
    }
  }

  /** Only what lies in the group: with {@code flex_bg} its tables may lie elsewhere. */
  private void mark(int group, byte[] bitmap, long first, int count) {
    long start = layout.firstBlock(group);
    long from = Math.max(first - start, 0);
    long to = Math.min(first + count - start, layout.blocksIn(group));
    if (from < to) {
      Bits.set(bitmap, (int) from, (int) to);
    }
  }

  /** Writes the checksums of all that were asked for. */
  void seal() throws IOException {
    for (Map.Entry<Integer, byte[]> entry : blockBitmaps.entrySet()) {
      groups.putBlockBitmapChecksum(entry.getKey(), entry.getValue());
    }
    for (Map.Entry<Integer, byte[]> entry : inodeBitmaps.entrySet()) {
      groups.putInodeBitmapChecksum(entry.getKey(), entry.getValue());
    }
  }
}
