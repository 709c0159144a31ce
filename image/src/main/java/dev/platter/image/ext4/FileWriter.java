package dev.platter.image.ext4;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes files and directories, and replaces what a file holds. A file that exists keeps its inode,
 * other names and extended attributes. New ones have no attributes: a guest with SELinux relabels
 * them at its next boot if told so.
 */
final class FileWriter {
  private static final int DIRECTORY_MODE = 0755;

  private final Volume volume;

  FileWriter(Volume volume) {
    this.volume = volume;
  }

  /** Returns the inode of a new, empty directory. */
  long makeDirectory(Directory parent, long parentNumber, String name) throws IOException {
    Inode inode = fresh(parentNumber, true);
    inode.own(Inode.DIRECTORY, DIRECTORY_MODE, 0, 0);
    inode.made(volume.now);
    Directory.create(volume, inode, parentNumber);
    volume.inodes.write(inode);
    parent.add(Volume.bytes(name), inode.number, Directory.KIND_DIRECTORY);
    return inode.number;
  }

  void create(NewFile file, Directory parent, long parentNumber, String name) throws IOException {
    Inode inode = fresh(parentNumber, false);
    inode.made(volume.now);
    inode.links(1);
    fill(inode, file);
    parent.add(Volume.bytes(name), inode.number, Directory.KIND_FILE);
  }

  private Inode fresh(long parent, boolean directory) throws IOException {
    long number = volume.allocator.takeInode(parent, directory);
    return Inode.fresh(number, volume.superblock.inodeSize);
  }

  void replace(NewFile file, Inode inode) throws IOException {
    volume.map.free(inode);
    inode.flags(inode.flags() & ~(Inode.HUGE | Inode.EOF_BLOCKS));
    inode.touch(volume.now);
    fill(inode, file);
  }

  private void fill(Inode inode, NewFile file) throws IOException {
    byte[] content = file.content();
    int blockSize = volume.superblock.blockSize;
    List<Long> blocks = new ArrayList<>();
    for (int at = 0; at < content.length; at += blockSize) {
      long block = volume.allocator.takeBlock(volume.allocator.groupOf(inode.number));
      byte[] bytes = volume.blocks.fresh(block);
      System.arraycopy(content, at, bytes, 0, Math.min(blockSize, content.length - at));
      blocks.add(block);
    }
    inode.own(Inode.REGULAR, file.mode(), file.uid(), file.gid());
    inode.size(content.length);
    volume.map.write(inode, blocks.stream().mapToLong(Long::longValue).toArray());
    volume.inodes.write(inode);
  }
}
