package dev.platter.image.rootfs;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** Extended attributes as ext4 has them: in the inode if there is room, else in a block. */
final class AttributeBytes {
  private static final int MAGIC = 0xEA020000;
  private static final int HEADER = 32;
  private static final int ENTRY = 16;

  /** Where names and values begin in the space of an inode. */
  private static final int IN_INODE = 4;

  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Attribute(int space, byte[] name, byte[] value) {
    int entrySize() {
      return (ENTRY + name.length + 3) & ~3;
    }

    int valueSize() {
      return (value.length + 3) & ~3;
    }
  }

  private AttributeBytes() {}

  /**
   * Those that a file system can have. Others say something of the machine that packed the layer.
   */
  static SortedMap<String, byte[]> known(SortedMap<String, byte[]> all) throws BadImageException {
    var out = new TreeMap<String, byte[]>();
    for (var attribute : all.entrySet()) {
      if (space(attribute.getKey()) > 0) {
        out.put(attribute.getKey(), attribute.getValue());
      }
    }
    if (!fit(sorted(out), HEADER, Geometry.BLOCK)) {
      throw new BadImageException(
          "a file has more extended attributes than fit in " + Geometry.BLOCK + " bytes");
    }
    return out;
  }

  /** The number of the namespace; 0 for one that is passed over. */
  private static int space(String name) throws BadImageException {
    int dot = name.indexOf('.');
    int space =
        switch (dot < 0 ? "" : name.substring(0, dot)) {
          case "user" -> 1;
          case "trusted" -> 4;
          case "security" -> 6;
          default -> 0;
        };
    boolean plain = name.length() <= 255 && name.chars().allMatch(c -> c > ' ' && c < 0x7F);
    if (space > 0 && (!plain || dot + 1 == name.length())) {
      throw new BadImageException("an extended attribute is named " + Printable.of(name));
    }
    return space;
  }

  private static List<Attribute> sorted(SortedMap<String, byte[]> xattrs) throws BadImageException {
    var out = new ArrayList<Attribute>();
    for (var attribute : xattrs.entrySet()) {
      var name = attribute.getKey();
      var rest = name.substring(name.indexOf('.') + 1).getBytes(US_ASCII);
      out.add(new Attribute(space(name), rest, attribute.getValue()));
    }
    out.sort(
        Comparator.comparingInt(Attribute::space)
            .thenComparingInt(attribute -> attribute.name.length)
            .thenComparing(Attribute::name, java.util.Arrays::compare));
    return out;
  }

  private static boolean fit(List<Attribute> attributes, int header, int room) {
    long size = header + 4L;
    for (var attribute : attributes) {
      size += attribute.entrySize() + attribute.valueSize();
    }
    return size <= room;
  }

  static boolean fitInInode(SortedMap<String, byte[]> xattrs) throws BadImageException {
    return fit(sorted(xattrs), IN_INODE, InodeBytes.ATTRIBUTES_SIZE);
  }

  /** For the end of an inode. */
  static void inInode(SortedMap<String, byte[]> xattrs, ByteBuffer into) throws BadImageException {
    into.order(ByteOrder.LITTLE_ENDIAN).putInt(0, MAGIC);
    // Values are counted from the first entry here, from the beginning of the block there.
    write(sorted(xattrs), into.slice(IN_INODE, into.capacity() - IN_INODE), 0);
  }

  static byte[] block(SortedMap<String, byte[]> xattrs) throws BadImageException {
    var bytes = ByteBuffer.allocate(Geometry.BLOCK).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putInt(0, MAGIC).putInt(4, 1).putInt(8, 1);
    bytes.putInt(12, write(sorted(xattrs), bytes, HEADER));
    return bytes.array();
  }

  /** Returns the hash of all. */
  private static int write(List<Attribute> attributes, ByteBuffer buffer, int from) {
    var into = buffer.order(ByteOrder.LITTLE_ENDIAN);
    int at = from;
    int end = into.capacity();
    int all = 0;
    for (var attribute : attributes) {
      end -= attribute.valueSize();
      into.put(end, attribute.value);
      int hash = hash(attribute, into, end);
      into.put(at, (byte) attribute.name.length).put(at + 1, (byte) attribute.space);
      into.putShort(at + 2, (short) (attribute.value.length == 0 ? 0 : end));
      into.putInt(at + 8, attribute.value.length).putInt(at + 12, hash);
      into.put(at + ENTRY, attribute.name);
      at += attribute.entrySize();
      all = Integer.rotateLeft(all, 16) ^ hash;
    }
    return all;
  }

  private static int hash(Attribute attribute, ByteBuffer values, int at) {
    int hash = 0;
    for (byte b : attribute.name) {
      hash = Integer.rotateLeft(hash, 5) ^ b;
    }
    for (int i = 0; i < attribute.valueSize(); i += 4) {
      hash = Integer.rotateLeft(hash, 16) ^ values.getInt(at + i);
    }
    return hash;
  }
}
