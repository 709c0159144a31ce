package dev.platter.image.qcow2;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Turns tables into extents: walks a range of the disk, joins neighbours that continue each other
 * in the file. Holds one piece of one L2 table; belongs to one thread.
 */
final class ExtentWalk {
  private final Tables tables;
  private final Header header;
  private final ByteBuffer piece;

  private boolean pending;
  private boolean pendingZero;
  private long pendingGuest;
  private long pendingHost;
  private long pendingLength;

  ExtentWalk(Tables tables) {
    this.tables = tables;
    this.header = tables.header;
    this.piece = ByteBuffer.allocateDirect(Math.min(Tables.PIECE, header.clusterSize()));
  }

  /**
   * Visits the disk from one position to another. Stretches are cut to the range, except compressed
   * clusters, which are shown whole.
   */
  void walk(long from, long to, ExtentVisitor visitor) throws IOException {
    pending = false;
    long guest = from;
    while (guest < to) {
      long index = guest / header.l2Coverage();
      long end = Math.min(to, (index + 1) * header.l2Coverage());
      long table = tables.l2Table(index);
      if (table == 0) {
        add(true, guest, 0, end - guest, visitor);
      } else {
        walkTable(table, guest, end, visitor);
      }
      guest = end;
    }
    flush(visitor);
  }

  private void walkTable(long table, long from, long to, ExtentVisitor visitor) throws IOException {
    int bits = header.clusterBits();
    int entrySize = header.l2EntrySize();
    int entriesInPiece = piece.capacity() / entrySize;
    long firstOfTable = (from / header.l2Coverage() * header.l2Coverage()) >> bits;
    long lastCluster = (to - 1) >> bits;
    for (long cluster = from >> bits; cluster <= lastCluster; ) {
      int count = (int) Math.min(entriesInPiece, lastCluster - cluster + 1);
      long at = table + (cluster - firstOfTable) * entrySize;
      piece.clear().limit(count * entrySize);
      tables.file.readFully(piece, at);
      for (int p = 0; p < piece.limit(); p += entrySize, cluster++) {
        long start = cluster << bits;
        addEntry(piece.getLong(p), tables.bitmap(piece, p), at + p, start, from, to, visitor);
      }
    }
  }

  private void addEntry(
      long entry, long bitmap, long at, long start, long from, long to, ExtentVisitor visitor)
      throws IOException {
    L2Entry format = tables.l2Entry;
    format.check(entry, bitmap, at);
    if (L2Entry.isCompressed(entry)) {
      flush(visitor);
      visitor.compressed(start, format.compressedHost(entry), format.compressedBound(entry));
      return;
    }
    long host = L2Entry.host(entry);
    int data = format.dataBits(entry, bitmap);
    if (data == 0 || data == L2Entry.ALL) {
      addCut(data == 0, start, host, header.clusterSize(), from, to, visitor);
      return;
    }
    int size = header.clusterSize() / L2Entry.SUBCLUSTERS;
    for (int i = 0; i < L2Entry.SUBCLUSTERS; i++) {
      long shift = (long) i * size;
      addCut((data >>> i & 1) == 0, start + shift, host + shift, size, from, to, visitor);
    }
  }

  private void addCut(
      boolean zero, long guest, long host, long length, long from, long to, ExtentVisitor visitor)
      throws IOException {
    long cut = Math.max(0, from - guest);
    long end = Math.min(to, guest + length);
    if (guest + cut < end) {
      add(zero, guest + cut, host + cut, end - guest - cut, visitor);
    }
  }

  private void add(boolean zero, long guest, long host, long length, ExtentVisitor visitor)
      throws IOException {
    if (pending && pendingZero == zero && (zero || pendingHost + pendingLength == host)) {
      pendingLength += length;
      return;
    }
    flush(visitor);
    pending = true;
    pendingZero = zero;
    pendingGuest = guest;
    pendingHost = host;
    pendingLength = length;
  }

  private void flush(ExtentVisitor visitor) throws IOException {
    if (!pending) {
      return;
    }
    pending = false;
    if (pendingZero) {
      visitor.zero(pendingGuest, pendingLength);
    } else {
      visitor.data(pendingGuest, pendingHost, pendingLength);
    }
  }
}
