package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/**
 * Takes and returns blocks and inodes, and keeps all counts of them. It looks for what is free from
 * where it took something last, so that the blocks of a file mostly follow each other.
 */
final class Allocator {
  private final Superblock superblock;
  private final Blocks blocks;
  private final Groups groups;
  private final GroupLayout layout;
  private final Bitmaps bitmaps;

  /** For a group that was asked for, the one that had something: full ones are passed once. */
  private final Map<Integer, Integer> groupsWithBlocks = new HashMap<>();

  private final Map<Integer, Integer> groupsWithInodes = new HashMap<>();
  private long blocksTaken;
  private long inodesTaken;
  private int lastGroup = -1;
  private int lastBit;

  Allocator(Superblock superblock, Blocks blocks, Groups groups, GroupLayout layout) {
    this.superblock = superblock;
    this.blocks = blocks;
    this.groups = groups;
    this.layout = layout;
    this.bitmaps = new Bitmaps(superblock, blocks, groups, layout);
  }

  /** Takes a block, in a group if it has one. */
  long takeBlock(int wantedGroup) throws IOException {
    int start = groupsWithBlocks.getOrDefault(wantedGroup, wantedGroup);
    for (int i = 0; i < superblock.groups; i++) {
      int group = (int) (((long) start + i) % superblock.groups);
      if (groups.freeBlocks(group) <= 0) {
        continue;
      }
      byte[] bitmap = bitmaps.ofBlocks(group);
      int from = group == lastGroup ? lastBit : 0;
      int bit = Bits.nextClear(bitmap, from, layout.blocksIn(group));
      bit = bit < 0 ? Bits.nextClear(bitmap, 0, from) : bit;
      if (bit < 0) {
        throw Corrupt.because("group %d has no free block, but counts some", group);
      }
      Bits.set(bitmap, bit);
      groups.addFreeBlocks(group, -1);
      blocksTaken++;
      groupsWithBlocks.put(wantedGroup, group);
      lastGroup = group;
      lastBit = bit;
      return layout.firstBlock(group) + bit;
    }
    throw new BadImageException("the ext file system is full: it has no free block");
  }

  void returnBlocks(long first, int count) throws IOException {
    for (long block = first; block < first + count; block++) {
      blocks.check(block);
      if (block < superblock.firstBlock) {
        throw Corrupt.because("block %d is used by a file", block);
      }
      int group = layout.groupOf(block);
      byte[] bitmap = bitmaps.ofBlocks(group);
      int bit = (int) (block - layout.firstBlock(group));
      if (!Bits.get(bitmap, bit)) {
        throw Corrupt.because("block %d is used by a file and yet free", block);
      }
      Bits.clear(bitmap, bit);
      groups.addFreeBlocks(group, 1);
      blocksTaken--;
    }
  }

  /** Takes an inode, near its directory if there is one. */
  long takeInode(long directory, boolean forDirectory) throws IOException {
    int wanted = groupOf(directory);
    int start = groupsWithInodes.getOrDefault(wanted, wanted);
    for (int i = 0; i < superblock.groups; i++) {
      int group = (int) (((long) start + i) % superblock.groups);
      if (groups.freeInodes(group) <= 0) {
        continue;
      }
      // As the kernel does: a group with files in it has both of its bitmaps.
      bitmaps.ofBlocks(group);
      byte[] bitmap = bitmaps.ofInodes(group);
      int bit = Bits.nextClear(bitmap, 0, superblock.inodesPerGroup);
      long inode = (long) group * superblock.inodesPerGroup + bit + 1;
      if (bit < 0 || inode < superblock.firstInode) {
        throw Corrupt.because("group %d has no free inode, but counts some", group);
      }
      Bits.set(bitmap, bit);
      groups.addFreeInodes(group, -1);
      if (forDirectory) {
        groups.addDirectory(group);
      }
      int unused = superblock.inodesPerGroup - bit - 1;
      if (superblock.descriptorChecksums && unused < groups.unusedInodes(group)) {
        groups.unusedInodes(group, unused);
      }
      inodesTaken++;
      groupsWithInodes.put(wanted, group);
      return inode;
    }
    throw new BadImageException("the ext file system is full: it has no free inode");
  }

  /** The group of an inode. */
  int groupOf(long inode) {
    return (int) ((inode - 1) / superblock.inodesPerGroup);
  }

  /** Writes the totals and all checksums. */
  void seal() throws IOException {
    bitmaps.seal();
    groups.seal();
    byte[] block = blocks.edit(Superblock.OFFSET / superblock.blockSize);
    int at = Superblock.OFFSET % superblock.blockSize;
    ByteBuffer bytes =
        ByteBuffer.wrap(block).slice(at, Superblock.SIZE).order(ByteOrder.LITTLE_ENDIAN);
    boolean wide = superblock.has(Feature.INCOMPAT_64BIT);
    long high = wide ? (long) bytes.getInt(Superblock.FREE_BLOCKS_HIGH) << 32 : 0;
    long freeBlocks =
        (high | (bytes.getInt(Superblock.FREE_BLOCKS_LOW) & 0xFFFFFFFFL)) - blocksTaken;
    long freeInodes = (bytes.getInt(Superblock.FREE_INODES) & 0xFFFFFFFFL) - inodesTaken;
    if (freeBlocks < 0
        || freeBlocks > superblock.blocks
        || freeInodes < 0
        || freeInodes > superblock.inodes) {
      throw Corrupt.because("the superblock counts too few or too many free blocks or inodes");
    }
    bytes.putInt(Superblock.FREE_BLOCKS_LOW, (int) freeBlocks);
    if (wide) {
      bytes.putInt(Superblock.FREE_BLOCKS_HIGH, (int) (freeBlocks >>> 32));
    }
    bytes.putInt(Superblock.FREE_INODES, (int) freeInodes);
    if (superblock.metadataChecksums) {
      bytes.putInt(Superblock.CHECKSUM, Superblock.checksum(bytes));
    }
  }
}
