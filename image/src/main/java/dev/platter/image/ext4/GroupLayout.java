package dev.platter.image.ext4;

/** Where the fixed parts of a group are: copies of the superblock, group descriptors, sizes. */
final class GroupLayout {
  private final Superblock superblock;
  private final int descriptorsPerBlock;

  GroupLayout(Superblock superblock) {
    this.superblock = superblock;
    this.descriptorsPerBlock = superblock.blockSize / superblock.descriptorSize;
  }

  long firstBlock(int group) {
    return superblock.firstBlock + (long) group * superblock.blocksPerGroup;
  }

  int groupOf(long block) {
    return (int) ((block - superblock.firstBlock) / superblock.blocksPerGroup);
  }

  int blocksIn(int group) {
    return (int) Math.min(superblock.blocksPerGroup, superblock.blocks - firstBlock(group));
  }

  int inodeTableBlocks() {
    return Math.ceilDiv(superblock.inodesPerGroup, superblock.blockSize / superblock.inodeSize);
  }

  /** The block that has the descriptor of a group. */
  long descriptorBlock(int group) {
    int number = group / descriptorsPerBlock;
    if (!isMeta(number)) {
      return superblock.firstBlock + 1 + number;
    }
    int first = number * descriptorsPerBlock;
    return firstBlock(first) + (hasSuperblock(first) ? 1 : 0);
  }

  /** How many blocks at the start of a group have copies of the superblock and descriptors. */
  int fixedBlocks(int group) {
    int copies = hasSuperblock(group) ? 1 : 0;
    int number = group / descriptorsPerBlock;
    if (isMeta(number)) {
      int in = group % descriptorsPerBlock;
      return copies + (in == 0 || in == 1 || in == descriptorsPerBlock - 1 ? 1 : 0);
    }
    int descriptors = Math.ceilDiv(superblock.groups, descriptorsPerBlock);
    if (superblock.has(Feature.INCOMPAT_META_BG)) {
      descriptors = (int) Math.min(descriptors, superblock.firstMetaGroup());
    }
    return copies == 0 ? 0 : 1 + descriptors + superblock.reservedDescriptorBlocks();
  }

  private boolean isMeta(int descriptorBlock) {
    return superblock.has(Feature.INCOMPAT_META_BG)
        && descriptorBlock >= superblock.firstMetaGroup();
  }

  private boolean hasSuperblock(int group) {
    if (group == 0) {
      return true;
    }
    if ((superblock.compat & Feature.COMPAT_SPARSE_SUPER2) != 0) {
      return superblock.isBackup(group);
    }
    return group == 1
        || (superblock.roCompat & Feature.RO_SPARSE_SUPER) == 0
        || isPower(group, 3)
        || isPower(group, 5)
        || isPower(group, 7);
  }

  private static boolean isPower(int number, int base) {
    int rest = number;
    while (rest % base == 0) {
      rest /= base;
    }
    return rest == 1;
  }
}
