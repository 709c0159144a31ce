package dev.platter.image.ext4;

import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Where file systems may be in a disk: partitions of an MBR, also logical ones, or of a GPT, and
 * last the disk itself. A table is only taken for a hint: what makes no sense in it is passed over.
 */
final class Partitions {
  private static final int SECTOR = 512;
  private static final int MBR_ENTRIES = 446;
  private static final int MBR_ENTRY = 16;
  private static final int PROTECTIVE = 0xEE;
  private static final long GPT_MAGIC = 0x5452415020494645L; // "EFI PART"
  private static final int MAX_GPT_ENTRIES = 1024;
  private static final int MAX_LOGICAL = 128;

  private final ByteSource disk;
  private final long size;
  private final List<Span> found = new ArrayList<>();

  private Partitions(ByteSource disk) throws IOException {
    this.disk = disk;
    this.size = disk.size();
  }

  static List<Span> of(ByteSource disk) throws IOException {
    var partitions = new Partitions(disk);
    partitions.readMbr();
    partitions.found.add(new Span("the whole disk", 0, partitions.size));
    return partitions.found;
  }

  private void readMbr() throws IOException {
    ByteBuffer mbr = sector(0);
    if (!isTable(mbr)) {
      return;
    }
    for (int i = 0; i < 4; i++) {
      if (type(mbr, i) == PROTECTIVE) {
        readGpt();
        return;
      }
    }
    for (int i = 0; i < 4; i++) {
      if (isExtended(type(mbr, i))) {
        readLogical(first(mbr, i));
      } else if (type(mbr, i) != 0) {
        add(i + 1, first(mbr, i), count(mbr, i));
      }
    }
  }

  /** A chain: each table has one partition and the place of the next table. */
  private void readLogical(long extended) throws IOException {
    long table = extended;
    for (int i = 0; i < MAX_LOGICAL; i++) {
      ByteBuffer sector = sector(table);
      if (!isTable(sector)) {
        return;
      }
      add(5 + i, table + first(sector, 0), count(sector, 0));
      if (!isExtended(type(sector, 1))) {
        return;
      }
      table = extended + first(sector, 1);
    }
  }

  private void readGpt() throws IOException {
    ByteBuffer header = sector(1);
    int entrySize = header.getInt(84);
    int entries = header.getInt(80);
    if (header.getLong(0) != GPT_MAGIC
        || entrySize < 128
        || entrySize > 4096
        || entries < 0
        || entries > MAX_GPT_ENTRIES) {
      return;
    }
    long table = header.getLong(72);
    if (table < 0 || table > size / SECTOR) {
      return;
    }
    for (int i = 0; i < entries; i++) {
      ByteBuffer entry = bytes(table * SECTOR + (long) i * entrySize, 48);
      long first = entry.getLong(32);
      long last = entry.getLong(40);
      boolean used = entry.getLong(0) != 0 || entry.getLong(8) != 0;
      if (used && first > 0 && last >= first && last < size / SECTOR) {
        add(i + 1, first, last - first + 1);
      }
    }
  }

  private void add(int number, long first, long count) {
    if (count > 0 && first > 0 && first < size / SECTOR) {
      long length = Math.min(count * SECTOR, size - first * SECTOR);
      found.add(new Span("partition " + number, first * SECTOR, length));
    }
  }

  private static boolean isTable(ByteBuffer sector) {
    return sector.getShort(SECTOR - 2) == (short) 0xAA55;
  }

  private static boolean isExtended(int type) {
    return type == 0x05 || type == 0x0F || type == 0x85;
  }

  private static int type(ByteBuffer mbr, int entry) {
    return mbr.get(MBR_ENTRIES + entry * MBR_ENTRY + 4) & 0xFF;
  }

  private static long first(ByteBuffer mbr, int entry) {
    return mbr.getInt(MBR_ENTRIES + entry * MBR_ENTRY + 8) & 0xFFFFFFFFL;
  }

  private static long count(ByteBuffer mbr, int entry) {
    return mbr.getInt(MBR_ENTRIES + entry * MBR_ENTRY + 12) & 0xFFFFFFFFL;
  }

  private ByteBuffer sector(long number) throws IOException {
    return bytes(number * SECTOR, SECTOR);
  }

  /** What lies past the end of the disk is zeros. */
  private ByteBuffer bytes(long position, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    disk.readAvailable(bytes, position);
    return bytes;
  }
}
