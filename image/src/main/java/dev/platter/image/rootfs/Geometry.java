package dev.platter.image.rootfs;

/**
 * Where things lie in the file system, in blocks. All that is not data lies before it, in one place
 * for all groups ({@code flex_bg}), and begins at a cluster of the qcow2: so no cluster has both.
 * There are no copies of the superblock ({@code sparse_super2}), and so nothing else in the way.
 *
 * <pre>
 *   superblock, group descriptors | bitmaps of blocks | of inodes | inodes | journal | data
 * </pre>
 */
final class Geometry {
  static final int BLOCK = 4096;

  /** Blocks in a cluster of the qcow2. */
  static final int IN_CLUSTER = 16;

  static final int GROUPS = 256;
  static final int BLOCKS_PER_GROUP = 8 * BLOCK;
  static final int BLOCKS = GROUPS * BLOCKS_PER_GROUP;
  static final long BYTES = (long) BLOCKS * BLOCK;

  static final int INODES_PER_GROUP = 8192;
  static final int INODES = GROUPS * INODES_PER_GROUP;
  static final int INODE = 256;
  static final int INODES_PER_BLOCK = BLOCK / INODE;
  static final int TABLE = INODES_PER_GROUP / INODES_PER_BLOCK;

  static final int ROOT_INODE = 2;
  static final int JOURNAL_INODE = 8;
  static final int FIRST_INODE = 11;

  static final int DESCRIPTORS = 1;
  static final int DESCRIPTOR = 32;
  static final int DESCRIPTORS_END = DESCRIPTORS + GROUPS * DESCRIPTOR / BLOCK;
  static final int BLOCK_BITMAPS = IN_CLUSTER;
  static final int INODE_BITMAPS = BLOCK_BITMAPS + GROUPS;
  static final int INODE_TABLES = INODE_BITMAPS + GROUPS;
  static final int JOURNAL = INODE_TABLES + GROUPS * TABLE;
  static final int JOURNAL_BLOCKS = 4096;
  static final int DATA = JOURNAL + JOURNAL_BLOCKS;

  private Geometry() {}
}
