package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Writes files by their paths, as {@code mkdir -p} and a shell's {@code >} would: links are
 * followed, the last part's too, and start over at the root of this file system if they are
 * absolute. {@code ..} in a link leads to the directory that was passed on the way, at most to the
 * root.
 *
 * <p>Names are bytes, which may be no text: here they are strings with one char for each byte.
 *
 * <p>A file that exists keeps its inode, other names and extended attributes. New files have none:
 * a guest with SELinux relabels them at its next boot if told so.
 */
final class FileWriter {
  private static final int MAX_LINKS = 40;
  private static final int DIRECTORY_MODE = 0755;

  private static final int MAX_NAME = 255;

  private final Volume volume;

  FileWriter(Volume volume) {
    this.volume = volume;
  }

  void write(NewFile file) throws IOException {
    Deque<Long> way = new ArrayDeque<>(List.of(Volume.ROOT));
    Deque<String> names = new ArrayDeque<>(file.names());
    int links = 0;
    while (true) {
      String name = names.pop();
      Inode directory = directory(way, file);
      if (name.isEmpty() || name.equals(".")) {
        requireMore(names, file);
        continue;
      }
      if (name.equals("..")) {
        requireMore(names, file);
        if (way.size() > 1) {
          way.pop();
        }
        continue;
      }
      if (name.length() > MAX_NAME || name.indexOf('\0') >= 0) {
        throw refused(file, "it leads through a link to no possible name");
      }
      Directory content = Directory.open(volume, directory);
      long found = content.find(Volume.bytes(name));
      if (found == 0) {
        if (names.isEmpty()) {
          create(file, content, directory.number, name);
          return;
        }
        way.push(makeDirectory(content, directory.number, name));
        continue;
      }
      Inode inode = volume.inodes.read(found);
      switch (inode.kind()) {
        case Inode.LINK -> {
          if (++links > MAX_LINKS) {
            throw refused(file, "it leads through more than %d links".formatted(MAX_LINKS));
          }
          follow(target(inode), way, names);
        }
        case Inode.DIRECTORY -> {
          requireMore(names, file);
          way.push(found);
        }
        case Inode.REGULAR -> {
          if (!names.isEmpty()) {
            throw refused(file, "'%s' on the way is a file".formatted(text(name)));
          }
          replace(file, inode);
          return;
        }
        default -> throw refused(file, "'%s' is a device or the like".formatted(text(name)));
      }
    }
  }

  private Inode directory(Deque<Long> way, NewFile file) throws IOException {
    Inode directory = volume.inodes.read(way.getFirst());
    if (directory.kind() != Inode.DIRECTORY) {
      throw refused(file, "inode %d is no directory".formatted(directory.number));
    }
    return directory;
  }

  private static void requireMore(Deque<String> names, NewFile file) throws BadImageException {
    if (names.isEmpty()) {
      throw refused(file, "it is a directory");
    }
  }

  private static void follow(String target, Deque<Long> way, Deque<String> names) {
    if (target.startsWith("/")) {
      way.clear();
      way.push(Volume.ROOT);
    }
    List<String> parts = Arrays.asList(target.split("/", -1));
    parts.reversed().forEach(names::push);
  }

  private String target(Inode link) throws IOException {
    long size = link.size();
    int blockSize = volume.superblock.blockSize;
    byte[] text;
    if (link.hasNoBlocks(blockSize) && size > 0 && size < Inode.MAP_SIZE) {
      text = new byte[(int) size];
      link.bytes.get(Inode.MAP, text);
    } else if (size > 0 && size <= blockSize && !link.has(Inode.ENCRYPTED | Inode.INLINE_DATA)) {
      long block = volume.map.blocks(link, 1)[0];
      text = Arrays.copyOf(volume.blocks.read(block), (int) size);
    } else {
      throw Corrupt.because("the symbolic link %d has %d bytes", link.number, size);
    }
    return new String(text, ISO_8859_1);
  }

  private long makeDirectory(Directory parent, long parentNumber, String name) throws IOException {
    Inode inode = fresh(parentNumber, true);
    inode.own(Inode.DIRECTORY, DIRECTORY_MODE, 0, 0);
    inode.made(volume.now);
    Directory.create(volume, inode, parentNumber);
    volume.inodes.write(inode);
    parent.add(Volume.bytes(name), inode.number, Directory.KIND_DIRECTORY);
    return inode.number;
  }

  private void create(NewFile file, Directory parent, long parentNumber, String name)
      throws IOException {
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

  private void replace(NewFile file, Inode inode) throws IOException {
    if (inode.has(Inode.ENCRYPTED | Inode.VERITY | Inode.INLINE_DATA | Inode.EA_INODE)) {
      throw refused(file, "it is encrypted, sealed (verity) or inside its inode");
    }
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

  private static String text(String name) {
    return Printable.of(new String(Volume.bytes(name), UTF_8));
  }

  private static BadImageException refused(NewFile file, String why) {
    return new BadImageException(
        "cannot write '%s' into the ext file system: %s".formatted(Printable.of(file.path()), why));
  }
}
