package dev.platter.image.rootfs;

import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A file of whatever kind. Its content lies in blocks that follow each other, as they came in the
 * tar.
 */
final class FileNode {
  static final int KIND = 0170000;
  static final int PIPE = 0010000;
  static final int CHARACTERS = 0020000;
  static final int DIRECTORY = 0040000;
  static final int BLOCKS = 0060000;
  static final int FILE = 0100000;
  static final int LINK = 0120000;

  final int number;

  /** Kind and permissions. */
  int mode;

  int uid;
  int gid;
  long seconds;
  int nanos;

  /** How many names it has; not counted for directories. */
  int links;

  long size;
  int first;
  int blocks;

  /** The block of its extents, if they do not fit in the inode. */
  int extents;

  /** The block of its extended attributes, if they do not fit in the inode. */
  int attributes;

  /** Where a symbolic link leads. */
  String target = "";

  int major;
  int minor;
  SortedMap<String, byte[]> xattrs = new TreeMap<>();

  /** Of a directory. */
  SortedMap<String, FileNode> children = new TreeMap<>();

  /** Of a directory; the root is its own. */
  @Nullable FileNode parent;

  /**
   * Whether the layer that is being applied has it, by all its names, so that its whiteouts do not
   * mean it.
   */
  boolean ofLayer;

  FileNode(int number, int mode) {
    this.number = number;
    this.mode = mode;
  }

  int kind() {
    return mode & KIND;
  }

  boolean isDirectory() {
    return kind() == DIRECTORY;
  }

  boolean isLink() {
    return kind() == LINK;
  }
}
