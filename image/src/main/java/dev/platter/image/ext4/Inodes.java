package dev.platter.image.ext4;

import java.io.IOException;
import java.nio.ByteBuffer;

/** The table of inodes. Those read must match their checksums; those written get theirs. */
final class Inodes {
  private static final int CHECKSUM_LOW = 0x7C;
  private static final int CHECKSUM_HIGH = 0x82;

  private final Superblock superblock;
  private final Blocks blocks;
  private final Groups groups;

  Inodes(Superblock superblock, Blocks blocks, Groups groups) {
    this.superblock = superblock;
    this.blocks = blocks;
    this.groups = groups;
  }

  Inode read(long number) throws IOException {
    byte[] bytes = new byte[superblock.inodeSize];
    System.arraycopy(blocks.read(block(number)), offset(number), bytes, 0, bytes.length);
    var inode = new Inode(number, bytes);
    if (inode.mode() == 0 || inode.links() == 0) {
      throw Corrupt.because("inode %d is in a directory but not in use", number);
    }
    if (superblock.metadataChecksums && kept(inode) != checksum(inode)) {
      throw Corrupt.because("the checksum of inode %d is wrong", number);
    }
    return inode;
  }

  void write(Inode inode) throws IOException {
    if (superblock.metadataChecksums) {
      int checksum = checksum(inode);
      inode.bytes.putShort(CHECKSUM_LOW, (short) checksum);
      if (inode.covers(CHECKSUM_HIGH + 2)) {
        inode.bytes.putShort(CHECKSUM_HIGH, (short) (checksum >>> 16));
      }
    }
    byte[] block = blocks.edit(block(inode.number));
    inode.bytes.get(0, block, offset(inode.number), superblock.inodeSize);
  }

  /** What the checksums of everything that belongs to an inode start from. */
  int seed(Inode inode) {
    int number = Crc.crc32c(superblock.checksumSeed, (int) inode.number);
    return Crc.crc32c(number, inode.generation());
  }

  private long block(long number) throws IOException {
    if (number < 1 || number > superblock.inodes) {
      throw Corrupt.because("inode %d of %d is referred to", number, superblock.inodes);
    }
    int group = (int) ((number - 1) / superblock.inodesPerGroup);
    long index = (number - 1) % superblock.inodesPerGroup;
    return groups.inodeTable(group) + index * superblock.inodeSize / superblock.blockSize;
  }

  private int offset(long number) {
    long index = (number - 1) % superblock.inodesPerGroup;
    return (int) (index * superblock.inodeSize % superblock.blockSize);
  }

  private static int kept(Inode inode) {
    int low = inode.bytes.getShort(CHECKSUM_LOW) & 0xFFFF;
    return inode.covers(CHECKSUM_HIGH + 2) ? low | inode.bytes.getShort(CHECKSUM_HIGH) << 16 : low;
  }

  private int checksum(Inode inode) {
    byte[] bytes = new byte[superblock.inodeSize];
    inode.bytes.get(0, bytes);
    boolean wide = inode.covers(CHECKSUM_HIGH + 2);
    ByteBuffer plain = ByteBuffer.wrap(bytes).putShort(CHECKSUM_LOW, (short) 0);
    if (wide) {
      plain.putShort(CHECKSUM_HIGH, (short) 0);
    }
    int checksum = Crc.crc32c(seed(inode), bytes);
    return wide ? checksum : checksum & 0xFFFF;
  }
}
