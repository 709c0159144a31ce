package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * One block of a directory: entries that follow each other to its end. With checksums the last
 * twelve bytes are one more entry, which nobody takes for a file, with the checksum of the rest.
 */
final class DirectoryBlock {
  static final int TAIL = 12;
  private static final int HEAD = 8;
  private static final int TAIL_KIND = 0xDE;

  private final byte[] block;
  private final ByteBuffer bytes;
  private final int end;
  private final long most;
  private final boolean kinds;

  /**
   * @param end where entries end: the tail or the end of the block
   * @param most the highest inode
   * @param kinds whether entries tell the kind of a file; without, the length of a name has its
   *     place too
   */
  DirectoryBlock(byte[] block, int end, long most, boolean kinds) {
    this.block = block;
    this.bytes = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    this.end = end;
    this.most = most;
    this.kinds = kinds;
  }

  /** Whether it is an inner node of an index: one unused entry over all of the block. */
  static boolean isIndexNode(byte[] block) {
    ByteBuffer head = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    return head.getInt(0) == 0 && (head.getShort(4) & 0xFFFF) == block.length;
  }

  static boolean isSealed(byte[] block, int seed) {
    ByteBuffer bytes = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    int tail = block.length - TAIL;
    return bytes.getInt(tail) == 0
        && bytes.getInt(tail + 4) == (TAIL | TAIL_KIND << 24)
        && bytes.getInt(tail + 8) == Crc.crc32c(seed, block, 0, tail);
  }

  static void seal(byte[] block, int seed) {
    ByteBuffer bytes = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    int tail = block.length - TAIL;
    bytes.putInt(tail, 0).putInt(tail + 4, TAIL | TAIL_KIND << 24);
    bytes.putInt(tail + 8, Crc.crc32c(seed, block, 0, tail));
  }

  /** The inode of a name; 0 if it is not here. */
  long find(byte[] name) throws BadImageException {
    for (int at = 0; at < end; ) {
      int next = at + length(at);
      int from = at + HEAD;
      if (inode(at) != 0
          && nameLength(at) == name.length
          && Arrays.equals(block, from, from + name.length, name, 0, name.length)) {
        return inode(at);
      }
      at = next;
    }
    return 0;
  }

  /** Makes it one entry without a file. */
  void clear() {
    Arrays.fill(block, (byte) 0);
    bytes.putShort(4, (short) end);
  }

  /** Forgets everything after its first two entries, which are the directory and its parent. */
  void keepDots() throws BadImageException {
    int first = space(1);
    if (length(0) != first || nameLength(0) != 1 || nameLength(first) != 2) {
      throw wrong();
    }
    Arrays.fill(block, first + space(2), block.length, (byte) 0);
    bytes.putShort(first + 4, (short) (end - first));
  }

  /** Whether an entry fits in somewhere; then it is there. */
  boolean add(byte[] name, long inode, int kind) throws BadImageException {
    int needed = space(name.length);
    for (int at = 0; at < end; at += length(at)) {
      int length = length(at);
      int used = inode(at) == 0 ? 0 : space(nameLength(at));
      if (length - used >= needed) {
        if (used > 0) {
          bytes.putShort(at + 4, (short) used);
        }
        int here = at + used;
        bytes.putInt(here, (int) inode).putShort(here + 4, (short) (length - used));
        bytes.put(here + 6, (byte) name.length).put(here + 7, (byte) (kinds ? kind : 0));
        bytes.put(here + HEAD, name);
        return true;
      }
    }
    return false;
  }

  private static int space(int nameLength) {
    return (HEAD + nameLength + 3) & ~3;
  }

  private long inode(int at) {
    return bytes.getInt(at) & 0xFFFFFFFFL;
  }

  private int nameLength(int at) {
    return kinds ? bytes.get(at + 6) & 0xFF : bytes.getShort(at + 6) & 0xFFFF;
  }

  /** The length of an entry, which is right in all. */
  private int length(int at) throws BadImageException {
    int left = end - at;
    int length = left < HEAD ? 0 : bytes.getShort(at + 4) & 0xFFFF;
    if (length < HEAD
        || length % 4 != 0
        || length > left
        || (inode(at) != 0 && space(nameLength(at)) > length)
        || inode(at) > most) {
      throw wrong();
    }
    return length;
  }

  private static BadImageException wrong() {
    return Corrupt.because("a directory has an entry that is wrong");
  }
}
