package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.util.Arrays;

/**
 * A directory. It is searched from end to end. When a directory with an index (htree) gets a new
 * entry, it loses the index, which the kernel and e2fsck take for a directory without one: an index
 * pays from thousands of files on, and e2fsck -D makes it anew.
 */
final class Directory {
  static final int KIND_FILE = 1;
  static final int KIND_DIRECTORY = 2;

  /** 64 MiB at most: a million files. */
  private static final int MAX_BLOCKS = 16384;

  private static final int MOST_LINKS = 65000;

  private final Volume volume;
  private final Inode inode;
  private final boolean sealed;
  private final int seed;
  private long[] map;

  private Directory(Volume volume, Inode inode, long[] map) {
    this.volume = volume;
    this.inode = inode;
    this.sealed = volume.superblock.metadataChecksums;
    this.seed = volume.inodes.seed(inode);
    this.map = map;
  }

  static Directory open(Volume volume, Inode inode) throws IOException {
    if (inode.has(Inode.ENCRYPTED | Inode.CASEFOLD | Inode.INLINE_DATA)) {
      throw new BadImageException(
          "a directory of the ext file system (inode %d) is %s, which is not supported"
              .formatted(
                  inode.number,
                  inode.has(Inode.ENCRYPTED)
                      ? "encrypted"
                      : inode.has(Inode.CASEFOLD) ? "blind to case" : "inside its inode"));
    }
    long size = inode.size();
    int blockSize = volume.superblock.blockSize;
    if (size <= 0 || size % blockSize != 0 || size / blockSize > MAX_BLOCKS) {
      throw Corrupt.because("the directory %d has %d bytes", inode.number, size);
    }
    return new Directory(volume, inode, volume.map.blocks(inode, (int) (size / blockSize)));
  }

  /** Makes an empty one in a new inode, which is not written yet. */
  static void create(Volume volume, Inode inode, long parent) throws IOException {
    long block = volume.allocator.takeBlock(volume.allocator.groupOf(inode.number));
    inode.links(2);
    inode.size(volume.superblock.blockSize);
    volume.map.write(inode, new long[] {block});
    var made = new Directory(volume, inode, new long[] {block});
    byte[] bytes = volume.blocks.fresh(block);
    DirectoryBlock content = made.view(bytes);
    content.clear();
    made.mustAdd(content, ".", inode.number);
    made.mustAdd(content, "..", parent);
    made.seal(bytes);
  }

  private void mustAdd(DirectoryBlock content, String name, long to) throws IOException {
    if (!content.add(Volume.bytes(name), to, KIND_DIRECTORY)) {
      throw new AssertionError("an empty block has room");
    }
  }

  /** The inode of a name; 0 if there is none. */
  long find(byte[] name) throws IOException {
    for (int i = 0; i < map.length; i++) {
      byte[] block = volume.blocks.read(map[i]);
      long found = check(i, block).find(name);
      if (found != 0) {
        return found;
      }
    }
    return 0;
  }

  /** Adds a name that is not there yet. */
  void add(byte[] name, long to, int kind) throws IOException {
    if (kind == KIND_DIRECTORY) {
      addLink();
    }
    if (inode.has(Inode.INDEXED)) {
      dropIndex();
    }
    if (!addToBlocks(name, to, kind)) {
      long block = grow();
      byte[] bytes = volume.blocks.fresh(block);
      DirectoryBlock content = view(bytes);
      content.clear();
      if (!content.add(name, to, kind)) {
        throw new AssertionError("an empty block has room");
      }
      seal(bytes);
    }
    inode.touch(volume.now);
    volume.inodes.write(inode);
  }

  private boolean addToBlocks(byte[] name, long to, int kind) throws IOException {
    for (int i = 0; i < map.length; i++) {
      byte[] block = volume.blocks.read(map[i]);
      check(i, block);
      // Blocks without room are not to be part of the patch.
      byte[] copy = block.clone();
      if (view(copy).add(name, to, kind)) {
        seal(copy);
        System.arraycopy(copy, 0, volume.blocks.edit(map[i]), 0, copy.length);
        return true;
      }
    }
    return false;
  }

  /** A link to the parent in a new directory: when they are too many to count, 1 says so. */
  private void addLink() throws BadImageException {
    boolean uncounted = (volume.superblock.roCompat & Feature.RO_DIR_NLINK) != 0;
    int links = inode.links();
    if (links + 1 > MOST_LINKS && !uncounted) {
      throw new BadImageException("a directory of the ext file system is full of directories");
    }
    if (!uncounted || links != 1) {
      inode.links(links + 1 > MOST_LINKS ? 1 : links + 1);
    }
  }

  /** Without checksums the blocks of an index already look like ones that hold no files. */
  private void dropIndex() throws IOException {
    if (sealed) {
      for (int i = 0; i < map.length; i++) {
        if (isIndex(i, volume.blocks.read(map[i]))) {
          byte[] bytes = volume.blocks.edit(map[i]);
          if (i == 0) {
            view(bytes).keepDots();
          } else {
            view(bytes).clear();
          }
          seal(bytes);
        }
      }
    }
    inode.flags(inode.flags() & ~Inode.INDEXED);
  }

  private long grow() throws IOException {
    if (map.length == MAX_BLOCKS) {
      throw new BadImageException("a directory of the ext file system is full");
    }
    long block = volume.allocator.takeBlock(volume.allocator.groupOf(inode.number));
    map = Arrays.copyOf(map, map.length + 1);
    map[map.length - 1] = block;
    volume.map.freeTree(inode);
    volume.map.write(inode, map);
    inode.size((long) map.length * volume.superblock.blockSize);
    return block;
  }

  private boolean isIndex(int number, byte[] block) {
    return inode.has(Inode.INDEXED) && (number == 0 || DirectoryBlock.isIndexNode(block));
  }

  /** A block whose checksum is right, to be read. */
  private DirectoryBlock check(int number, byte[] block) throws BadImageException {
    boolean index = isIndex(number, block);
    if (sealed && !index && !DirectoryBlock.isSealed(block, seed)) {
      throw Corrupt.because("the checksum of the directory %d is wrong", inode.number);
    }
    return view(block, index ? block.length : entriesEnd());
  }

  private DirectoryBlock view(byte[] block) {
    return view(block, entriesEnd());
  }

  private DirectoryBlock view(byte[] block, int end) {
    return new DirectoryBlock(
        block, end, volume.superblock.inodes, volume.superblock.has(Feature.INCOMPAT_FILETYPE));
  }

  private int entriesEnd() {
    return volume.superblock.blockSize - (sealed ? DirectoryBlock.TAIL : 0);
  }

  private void seal(byte[] block) {
    if (sealed) {
      DirectoryBlock.seal(block, seed);
    }
  }
}
