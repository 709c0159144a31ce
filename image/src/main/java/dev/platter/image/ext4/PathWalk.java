package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * The way from the root to one file, as {@code mkdir -p} and a shell's {@code >} would go it: links
 * are followed, the last part's too, and start over at the root of this file system if they are
 * absolute. {@code ..} in a link leads to the directory that was passed on the way, at most to the
 * root.
 *
 * <p>Names are bytes, which may be no text: here they are strings with one char for each byte.
 */
final class PathWalk {
  private static final int MAX_LINKS = 40;
  private static final int MAX_NAME = 255;

  private final Volume volume;
  private final FileWriter writer;
  private final NewFile file;
  private final Deque<Long> way = new ArrayDeque<>(List.of(Volume.ROOT));
  private final Deque<String> names;
  private int links;

  PathWalk(Volume volume, FileWriter writer, NewFile file) {
    this.volume = volume;
    this.writer = writer;
    this.file = file;
    this.names = new ArrayDeque<>(file.names());
  }

  /** Goes all the way and writes the file at its end. */
  void go() throws IOException {
    boolean written = false;
    while (!written) {
      written =
          switch (names.pop()) {
            case "", "." -> mustGoOn();
            case ".." -> {
              if (way.size() > 1) {
                way.pop();
              }
              yield mustGoOn();
            }
            case String name -> step(name);
          };
    }
  }

  /** Returns false: the way does not end at a directory. */
  private boolean mustGoOn() throws BadImageException {
    if (names.isEmpty()) {
      throw refused("it is a directory");
    }
    return false;
  }

  /** Returns whether this was the end and the file is written. */
  private boolean step(String name) throws IOException {
    if (name.length() > MAX_NAME || name.indexOf('\0') >= 0) {
      throw refused("it leads through a link to no possible name");
    }
    Inode here = volume.inodes.read(way.getFirst());
    if (here.kind() != Inode.DIRECTORY) {
      throw Corrupt.because("inode %d is no directory", here.number);
    }
    Directory directory = Directory.open(volume, here);
    long found = directory.find(Volume.bytes(name));
    if (found != 0) {
      return enter(name, volume.inodes.read(found));
    }
    if (names.isEmpty()) {
      writer.create(file, directory, here.number, name);
      return true;
    }
    way.push(writer.makeDirectory(directory, here.number, name));
    return false;
  }

  private boolean enter(String name, Inode inode) throws IOException {
    return switch (inode.kind()) {
      case Inode.DIRECTORY -> {
        way.push(inode.number);
        yield mustGoOn();
      }
      case Inode.LINK -> {
        follow(target(inode));
        yield false;
      }
      case Inode.REGULAR -> {
        if (!names.isEmpty()) {
          throw refused("'%s' on the way is a file".formatted(text(name)));
        }
        if (inode.has(Inode.ENCRYPTED | Inode.VERITY | Inode.INLINE_DATA | Inode.EA_INODE)) {
          throw refused("it is encrypted, sealed (verity) or inside its inode");
        }
        writer.replace(file, inode);
        yield true;
      }
      default -> throw refused("'%s' is a device or the like".formatted(text(name)));
    };
  }

  private void follow(String target) throws BadImageException {
    if (++links > MAX_LINKS) {
      throw refused("it leads through more than %d links".formatted(MAX_LINKS));
    }
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

  private static String text(String name) {
    return Printable.of(new String(Volume.bytes(name), UTF_8));
  }

  private BadImageException refused(String why) {
    return new BadImageException(
        "cannot write '%s' into the ext file system: %s".formatted(Printable.of(file.path()), why));
  }
}
