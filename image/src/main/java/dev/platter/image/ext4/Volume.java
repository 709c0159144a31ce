package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.platter.image.ByteSource;
import java.io.IOException;

/** The parts of one file system that is being changed. */
final class Volume {
  static final long ROOT = 2;

  final Superblock superblock;
  final Blocks blocks;
  final Inodes inodes;
  final Allocator allocator;
  final BlockMap map;

  /** What is written as the time of changes, in seconds. */
  final long now;

  private Volume(Superblock superblock, Blocks blocks, long now) {
    this.superblock = superblock;
    this.blocks = blocks;
    this.now = now;
    var layout = new GroupLayout(superblock);
    var groups = new Groups(superblock, blocks, layout);
    this.inodes = new Inodes(superblock, blocks, groups);
    this.allocator = new Allocator(superblock, blocks, groups, layout);
    this.map = new BlockMap(superblock, blocks, inodes, allocator);
  }

  static Volume open(ByteSource disk, Span span, long now) throws IOException {
    Superblock superblock = Superblock.read(disk, span.start(), span.length());
    var blocks = new Blocks(disk, span.start(), superblock.blockSize, superblock.blocks);
    return new Volume(superblock, blocks, now);
  }

  /** Whether the root has a directory of this name. */
  boolean hasDirectory(String name) throws IOException {
    long found = Directory.open(this, inodes.read(ROOT)).find(bytes(name));
    return found != 0 && inodes.read(found).kind() == Inode.DIRECTORY;
  }

  /** All changes; nothing may be changed after this. */
  Patch seal() throws IOException {
    allocator.seal();
    return blocks.patch();
  }

  /**
   * @param name with one char for each byte
   */
  static byte[] bytes(String name) {
    return name.getBytes(ISO_8859_1);
  }
}
