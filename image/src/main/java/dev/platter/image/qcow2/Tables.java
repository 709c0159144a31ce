package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The active tables of an image: the L1 table in memory, L2 tables read piece by piece when asked
 * for. {@link #load} looks at every entry once, so that whoever walks them later meets no overlap;
 * single entries are checked again on each read, which costs nothing and holds even if somebody
 * changes the file meanwhile.
 *
 * <p>Left out: refcounts and snapshots. A reader has no use for them, and wrong ones do no harm.
 */
final class Tables {
  private static final long L1_RESERVED = 0x7f000000000001ffL;
  private static final long L1_OFFSET = 0x00fffffffffffe00L;

  /** The most of an L2 table that is read at once; a multiple of every entry size. */
  static final int PIECE = 64 << 10;

  final ByteSource file;
  final long fileSize;
  final Header header;
  final L2Entry l2Entry;
  private final long[] l1;

  private Tables(ByteSource file, long fileSize, Header header, long[] l1) {
    this.file = file;
    this.fileSize = fileSize;
    this.header = header;
    this.l2Entry = new L2Entry(header, fileSize);
    this.l1 = l1;
  }

  static Tables load(ByteSource file, Limits limits) throws IOException {
    Tables tables = loadUnchecked(file, limits);
    tables.check();
    return tables;
  }

  static Tables loadUnchecked(ByteSource file, Limits limits) throws IOException {
    long fileSize = file.size();
    Header header = Header.read(file, limits);
    return new Tables(file, fileSize, header, readL1(file, fileSize, header));
  }

  /** Where the L2 table for the given stretch of the disk lies; 0 if that stretch is empty. */
  long l2Table(long index) {
    return l1[(int) index];
  }

  /** Entries of the L2 table {@code index} that describe a part of the disk. */
  int usedEntries(int index) {
    long rest = header.virtualSize() - index * header.l2Coverage();
    return (int) Math.min(header.l2Entries(), Math.ceilDiv(rest, header.clusterSize()));
  }

  private static long[] readL1(ByteSource file, long fileSize, Header header) throws IOException {
    long[] l1 = new long[header.usedL1Entries()];
    ByteBuffer piece = ByteBuffer.allocate((int) Math.min(PIECE, l1.length * 8L));
    for (int i = 0; i < l1.length; i++) {
      long at = header.l1Offset() + i * 8L;
      if (i % (PIECE / 8) == 0) {
        piece.clear().limit((int) Math.min(PIECE, (l1.length - i) * 8L));
        file.readFully(piece, at);
        piece.flip();
      }
      long entry = piece.getLong();
      if ((entry & L1_RESERVED) != 0) {
        throw Refused.at(at, "reserved bits are set in L1 entry 0x%016x".formatted(entry));
      }
      long table = entry & L1_OFFSET;
      if ((table & (header.clusterSize() - 1)) != 0) {
        throw Refused.at(at, "L2 table 0x%x is not aligned".formatted(table));
      }
      if (table != 0 && table > fileSize - header.clusterSize()) {
        throw Refused.at(at, "L2 table 0x%x is outside the file".formatted(table));
      }
      l1[i] = table;
    }
    return l1;
  }

  void check() throws IOException {
    HostMap map = new HostMap(fileSize, header.clusterBits());
    map.claim(0, header.clusterSize(), HostMap.Use.TABLE, 0);
    map.claim(header.refcountTableOffset(), header.refcountTableBytes(), HostMap.Use.TABLE, 48);
    if (header.l1Entries() > 0) {
      map.claim(header.l1Offset(), header.l1Entries() * 8L, HostMap.Use.TABLE, 40);
    }
    for (int i = 0; i < l1.length; i++) {
      if (l1[i] != 0) {
        map.claim(l1[i], header.clusterSize(), HostMap.Use.TABLE, header.l1Offset() + i * 8L);
      }
    }
    CompressedBudget budget = new CompressedBudget(header, fileSize);
    ByteBuffer piece = ByteBuffer.allocateDirect(Math.min(PIECE, header.clusterSize()));
    for (int i = 0; i < l1.length; i++) {
      if (l1[i] != 0) {
        checkL2(l1[i], usedEntries(i), piece, map, budget);
      }
    }
  }

  private void checkL2(
      long table, int entries, ByteBuffer piece, HostMap map, CompressedBudget budget)
      throws IOException {
    int entrySize = header.l2EntrySize();
    long end = table + (long) entries * entrySize;
    for (long at = table; at < end; at += piece.capacity()) {
      piece.clear().limit((int) Math.min(piece.capacity(), end - at));
      file.readFully(piece, at);
      for (int p = 0; p < piece.limit(); p += entrySize) {
        checkEntry(piece.getLong(p), bitmap(piece, p), at + p, map, budget);
      }
    }
  }

  private void checkEntry(long entry, long bitmap, long at, HostMap map, CompressedBudget budget)
      throws BadImageException {
    if (entry == 0 && bitmap == 0) {
      return;
    }
    l2Entry.check(entry, bitmap, at);
    if (L2Entry.isCompressed(entry)) {
      map.claim(l2Entry.compressedHost(entry), 1, HostMap.Use.COMPRESSED, at);
      budget.spend(l2Entry.compressedBound(entry), at);
    } else if (L2Entry.host(entry) != 0) {
      map.claim(L2Entry.host(entry), 1, HostMap.Use.DATA, at);
    }
  }

  /** The second half of the entry at a place in a piece of a table. */
  long bitmap(ByteBuffer piece, int position) {
    return header.extendedL2() ? piece.getLong(position + 8) : 0;
  }
}
