package dev.platter.image.rootfs;

import dev.platter.image.qcow2.Clusters;
import dev.platter.image.qcow2.Qcow2Appender;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;

/**
 * What a file system has beside data. All of it follows from the tree, so a cluster that changed is
 * written anew, and none is ever read.
 */
final class Metadata {
  private static final int JOURNAL_MAGIC = 0xC03B3998;
  private static final int JOURNAL_SUPERBLOCK = 4;

  private final FileTree tree;
  private final Qcow2Appender disk;
  private final BitSet blocks;
  private final BitSet inodes;

  Metadata(FileTree tree, Qcow2Appender disk) {
    this.tree = tree;
    this.disk = disk;
    this.blocks = usedBlocks(tree);
    this.inodes = usedInodes(tree);
  }

  static BitSet usedBlocks(FileTree tree) {
    var used = new BitSet(Geometry.BLOCKS);
    used.set(0, Geometry.DESCRIPTORS_END);
    used.set(Geometry.BLOCK_BITMAPS, Geometry.DATA);
    for (var node : tree.nodes()) {
      used.set(node.first, node.first + node.blocks);
      used.set(node.extents);
      used.set(node.attributes);
    }
    return used;
  }

  static BitSet usedInodes(FileTree tree) {
    var used = new BitSet(Geometry.INODES);
    used.set(0, Geometry.FIRST_INODE - 1);
    tree.nodes().forEach(node -> used.set(node.number - 1));
    return used;
  }

  /**
   * @param blocksBefore which blocks the layer below uses
   * @param first whether there is no layer below
   */
  void write(BitSet blocksBefore, BitSet inodesBefore, boolean first) throws IOException {
    superblock();
    bitmaps(Geometry.BLOCK_BITMAPS, blocks, blocksBefore, Geometry.BLOCKS_PER_GROUP);
    bitmaps(Geometry.INODE_BITMAPS, inodes, inodesBefore, Geometry.INODES_PER_GROUP);
    if (first) {
      tree.changed().set(Geometry.JOURNAL_INODE);
    }
    inodes();
    if (first) {
      var journal = cluster().order(ByteOrder.BIG_ENDIAN);
      journal.putInt(0, JOURNAL_MAGIC).putInt(4, JOURNAL_SUPERBLOCK);
      journal.putInt(12, Geometry.BLOCK).putInt(16, Geometry.JOURNAL_BLOCKS);
      journal.putInt(20, 1).putInt(24, 1).putInt(0x40, 1);
      append(Geometry.JOURNAL, journal);
    }
  }

  private static ByteBuffer cluster() {
    return ByteBuffer.allocate(Clusters.SIZE).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void append(int block, ByteBuffer cluster) throws IOException {
    disk.append((long) block * Geometry.BLOCK, cluster.clear());
  }

  private void superblock() throws IOException {
    var cluster = cluster();
    int freeBlocks = Geometry.BLOCKS - blocks.cardinality();
    int freeInodes = Geometry.INODES - inodes.cardinality();
    SuperblockBytes.write(cluster.slice(1024, 1024), freeBlocks, freeInodes);
    int at = Geometry.DESCRIPTORS * Geometry.BLOCK;
    var directories = new int[Geometry.GROUPS];
    for (var node : tree.nodes()) {
      if (node.isDirectory()) {
        directories[(node.number - 1) / Geometry.INODES_PER_GROUP]++;
      }
    }
    for (int group = 0; group < Geometry.GROUPS; group++, at += Geometry.DESCRIPTOR) {
      cluster.putInt(at, Geometry.BLOCK_BITMAPS + group);
      cluster.putInt(at + 4, Geometry.INODE_BITMAPS + group);
      cluster.putInt(at + 8, Geometry.INODE_TABLES + group * Geometry.TABLE);
      cluster.putShort(at + 12, (short) free(blocks, group, Geometry.BLOCKS_PER_GROUP));
      cluster.putShort(at + 14, (short) free(inodes, group, Geometry.INODES_PER_GROUP));
      cluster.putShort(at + 16, (short) directories[group]);
    }
    append(0, cluster);
  }

  private static int free(BitSet used, int group, int perGroup) {
    return perGroup - used.get(group * perGroup, (group + 1) * perGroup).cardinality();
  }

  /** Those of a group that has nothing are zeros, but for what lies past the last inode. */
  private void bitmaps(int from, BitSet used, BitSet before, int perGroup) throws IOException {
    var changed = (BitSet) used.clone();
    changed.xor(before);
    for (int group = 0; group < Geometry.GROUPS; group += Geometry.IN_CLUSTER) {
      int next = changed.nextSetBit(group * perGroup);
      boolean padded = perGroup < Geometry.BLOCKS_PER_GROUP && before.isEmpty();
      if (!padded && (next < 0 || next >= (group + Geometry.IN_CLUSTER) * perGroup)) {
        continue;
      }
      var cluster = cluster();
      for (int i = 0; i < Geometry.IN_CLUSTER; i++) {
        var bits = used.get((group + i) * perGroup, (group + i + 1) * perGroup);
        bits.set(perGroup, Geometry.BLOCKS_PER_GROUP);
        cluster.put(i * Geometry.BLOCK, bits.toByteArray());
      }
      append(from + group, cluster);
    }
  }

  /** The clusters of the inode tables that have a changed inode. */
  private void inodes() throws IOException {
    int inCluster = Geometry.IN_CLUSTER * Geometry.INODES_PER_BLOCK;
    var changed = tree.changed();
    for (int number = changed.nextSetBit(0); number >= 0; ) {
      int first = (number - 1) / inCluster * inCluster;
      var cluster = cluster();
      for (int i = 0; i < inCluster; i++) {
        int wanted = first + i + 1;
        var node = wanted == Geometry.JOURNAL_INODE ? InodeBytes.journal() : tree.node(wanted);
        if (node != null) {
          InodeBytes.write(node, cluster.slice(i * Geometry.INODE, Geometry.INODE));
        }
      }
      append(Geometry.INODE_TABLES + first / Geometry.INODES_PER_BLOCK, cluster);
      number = changed.nextSetBit(first + inCluster + 1);
    }
  }
}
