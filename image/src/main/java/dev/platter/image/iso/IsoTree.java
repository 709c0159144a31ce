package dev.platter.image.iso;

import dev.platter.image.iso.IsoNode.Directory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One directory tree of an image. There are two over the same files: plain ISO 9660, whose records
 * also carry the Rock Ridge names and modes that Linux reads, and Joliet's UCS-2 names for Windows.
 */
abstract sealed class IsoTree permits PrimaryTree, JolietTree {
  static final int SECTOR = 2048;
  private static final int RECORD = 33;
  private static final byte[] SELF = {0};
  private static final byte[] PARENT = {1};
  private static final byte[] DATE = {100, 1, 1, 0, 0, 0, 0}; // 2000-01-01

  /** What a directory record stands for. */
  enum Role {
    ROOT_SELF,
    SELF,
    PARENT,
    CHILD
  }

  /** Gives out sectors in the order in which everything is written. */
  @FunctionalInterface
  interface Allocator {
    int take(int bytes);
  }

  private record Extent(int sector, int size) {}

  private final Directory root;
  private final Map<Directory, Integer> numbers = new HashMap<>();
  private final Map<Directory, Extent> extents = new HashMap<>();
  private List<Directory> directories = List.of();
  private int littleEndianTable;
  private int bigEndianTable;

  IsoTree(Directory root) {
    this.root = root;
  }

  abstract byte[] identifier(IsoNode node);

  abstract Comparator<IsoNode> order();

  abstract byte[] systemUse(IsoNode node, Role role);

  abstract byte[] descriptor(String label, int sectors);

  /** Decides where the path tables and directories lie. */
  void place(Allocator allocator) {
    directories = number();
    int table = pathTable(ByteOrder.BIG_ENDIAN).length;
    littleEndianTable = allocator.take(table);
    bigEndianTable = allocator.take(table);
    for (Directory directory : directories) {
      int size = records(directory).length;
      extents.put(directory, new Extent(allocator.take(size), size));
    }
  }

  /** All directories in the order of the path table, parents first, numbered from 1. */
  private List<Directory> number() {
    List<Directory> all = new ArrayList<>(List.of(root));
    for (int i = 0; i < all.size(); i++) {
      Directory directory = all.get(i);
      numbers.put(directory, i + 1);
      directory.children.stream()
          .sorted(order())
          .filter(Directory.class::isInstance)
          .map(Directory.class::cast)
          .forEach(all::add);
    }
    return all;
  }

  /** What {@link #place} placed, in that order, each to be padded to a sector. */
  List<byte[]> parts() {
    List<byte[]> parts = new ArrayList<>();
    parts.add(pathTable(ByteOrder.LITTLE_ENDIAN));
    parts.add(pathTable(ByteOrder.BIG_ENDIAN));
    for (Directory directory : directories) {
      parts.add(records(directory));
    }
    return parts;
  }

  VolumeDescriptor.PathTables pathTables() {
    int size = pathTable(ByteOrder.BIG_ENDIAN).length;
    return new VolumeDescriptor.PathTables(size, littleEndianTable, bigEndianTable);
  }

  /** The record of the root that stands in the volume descriptor. */
  byte[] rootRecord() {
    return record(root, SELF, new byte[0]);
  }

  private byte[] pathTable(ByteOrder order) {
    int size = 0;
    for (Directory directory : directories) {
      size += 8 + even(pathIdentifier(directory).length);
    }
    ByteBuffer table = ByteBuffer.allocate(size).order(order);
    for (Directory directory : directories) {
      byte[] identifier = pathIdentifier(directory);
      table.put((byte) identifier.length).put((byte) 0).putInt(extent(directory).sector());
      table.putShort((short) (int) numbers.getOrDefault(directory.parent, 0)).put(identifier);
      table.position(even(table.position()));
    }
    return table.array();
  }

  /** Before they are placed, directories are measured: what they contain does not matter then. */
  private Extent extent(Directory directory) {
    return extents.getOrDefault(directory, new Extent(0, 0));
  }

  private byte[] pathIdentifier(Directory directory) {
    return directory.parent == directory ? SELF : identifier(directory);
  }

  /** The records of one directory; none crosses a sector. */
  private byte[] records(Directory directory) {
    List<byte[]> records = new ArrayList<>();
    Role self = directory.parent == directory ? Role.ROOT_SELF : Role.SELF;
    records.add(record(directory, SELF, systemUse(directory, self)));
    records.add(record(directory.parent, PARENT, systemUse(directory.parent, Role.PARENT)));
    directory.children.stream()
        .sorted(order())
        .map(child -> record(child, identifier(child), systemUse(child, Role.CHILD)))
        .forEach(records::add);

    int end = 0;
    for (byte[] record : records) {
      end = place(end, record.length) + record.length;
    }
    ByteBuffer extent = ByteBuffer.allocate(roundUp(end));
    for (byte[] record : records) {
      extent.position(place(extent.position(), record.length)).put(record);
    }
    return extent.array();
  }

  private static int place(int position, int length) {
    return position % SECTOR + length > SECTOR ? roundUp(position) : position;
  }

  private byte[] record(IsoNode node, byte[] identifier, byte[] systemUse) {
    // The identifier starts at an odd offset: an even one takes a byte of padding.
    int head = even(RECORD + identifier.length);
    ByteBuffer record = ByteBuffer.allocate(head + even(systemUse.length));
    record.put((byte) record.capacity()).put((byte) 0);
    switch (node) {
      case IsoNode.File file -> {
        both(record, file.sector);
        both(record, file.content.length);
      }
      case Directory directory -> {
        both(record, extent(directory).sector());
        both(record, extent(directory).size());
      }
    }
    record.put(DATE).put((byte) (node instanceof Directory ? 2 : 0)).putShort((short) 0);
    record.put(new byte[] {1, 0, 0, 1});
    record.put((byte) identifier.length).put(identifier);
    record.position(head).put(systemUse);
    return record.array();
  }

  /** ISO 9660 stores numbers twice, little-endian and big-endian. */
  static ByteBuffer both(ByteBuffer buffer, int value) {
    return buffer.putInt(Integer.reverseBytes(value)).putInt(value);
  }

  static int roundUp(int bytes) {
    return (bytes + SECTOR - 1) / SECTOR * SECTOR;
  }

  private static int even(int value) {
    return value + (value & 1);
  }
}
