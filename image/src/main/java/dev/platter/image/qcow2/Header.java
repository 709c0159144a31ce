package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The header of an image that passed every check that can be made without reading a table. What
 * leads out of the file (a backing file, a data file), what cannot be read (encryption, features
 * nobody has told us of) and what is absurd is refused here, and nothing behind this class looks
 * again. The size limits of L1 and refcount table are QEMU's.
 *
 * <p>The dirty bit is no reason to refuse: it says that refcounts may be wrong, and a reader needs
 * none. Snapshots are not looked at, only that their table is where it can be.
 */
record Header(
    int version,
    int clusterBits,
    long virtualSize,
    long l1Offset,
    int l1Entries,
    long refcountTableOffset,
    long refcountTableBytes,
    Compression compression,
    boolean extendedL2) {

  static final int MAGIC = 0x514649fb;
  private static final int V2_LENGTH = 72;
  private static final int V3_LENGTH = 104;
  private static final long MAX_L1_BYTES = 32 << 20;
  private static final long MAX_REFCOUNT_TABLE_BYTES = 8 << 20;
  private static final long MAX_SNAPSHOTS = 65536;

  private static final long INCOMPATIBLE_DIRTY = 1;
  private static final long INCOMPATIBLE_CORRUPT = 1 << 1;
  private static final long INCOMPATIBLE_DATA_FILE = 1 << 2;
  private static final long INCOMPATIBLE_COMPRESSION = 1 << 3;
  private static final long INCOMPATIBLE_EXTENDED_L2 = 1 << 4;
  private static final long KNOWN_INCOMPATIBLE =
      INCOMPATIBLE_DIRTY | INCOMPATIBLE_COMPRESSION | INCOMPATIBLE_EXTENDED_L2;

  private static final int EXTENSION_END = 0;
  private static final int EXTENSION_DATA_FILE = 0x44415441;

  int clusterSize() {
    return 1 << clusterBits;
  }

  int l2EntrySize() {
    return extendedL2 ? 16 : 8;
  }

  int l2Entries() {
    return clusterSize() / l2EntrySize();
  }

  /** How much of the disk one L2 table describes. */
  long l2Coverage() {
    return (long) l2Entries() << clusterBits;
  }

  /** The L1 entries that describe the disk; a table may have more, for saved machine state. */
  int usedL1Entries() {
    return Math.toIntExact(Math.ceilDiv(virtualSize, l2Coverage()));
  }

  Qcow2Info info() {
    return new Qcow2Info(version, virtualSize, clusterSize());
  }

  static Header read(ByteSource file, Limits limits) throws IOException {
    long fileSize = file.size();
    ByteBuffer h = ByteBuffer.allocate(V3_LENGTH + 8);
    boolean whole = file.readAvailable(h, 0);
    int present = whole ? h.capacity() : h.position();
    if (present < V2_LENGTH) {
      throw Refused.at(0, "the file has " + present + " bytes, a header has 72 or more");
    }
    if (h.getInt(0) != MAGIC) {
      throw Refused.at(0, "the magic is 0x%08x, not QFI\\xfb".formatted(h.getInt(0)));
    }
    int version = h.getInt(4);
    if (version != 2 && version != 3) {
      throw Refused.at(4, "version " + unsigned(h, 4) + ", only 2 and 3 are known");
    }
    long clusterBits = unsigned(h, 20);
    if (clusterBits < 9 || clusterBits > 21) {
      throw Refused.at(20, "cluster bits " + clusterBits + ", only 9 to 21 are allowed");
    }
    int clusterSize = 1 << clusterBits;
    if (h.getLong(8) != 0 || h.getInt(16) != 0) {
      throw Refused.at(8, "it has a backing file: an image must stand alone");
    }
    if (h.getInt(32) != 0) {
      throw Refused.at(32, "it is encrypted (method " + unsigned(h, 32) + ")");
    }

    Compression compression = Compression.ZLIB;
    boolean extendedL2 = false;
    long headerLength = V2_LENGTH;
    if (version == 3) {
      headerLength = present < V3_LENGTH ? 0 : unsigned(h, 100);
      if (headerLength < V3_LENGTH || headerLength % 8 != 0 || headerLength > clusterSize) {
        throw Refused.at(100, "header length " + headerLength + " is impossible");
      }
      if (headerLength > fileSize) {
        throw Refused.at(100, "header length " + headerLength + " is past the end of the file");
      }
      long incompatible = h.getLong(72);
      compression = checkFeatures(incompatible, headerLength > V3_LENGTH ? h.get(104) & 0xff : 0);
      extendedL2 = (incompatible & INCOMPATIBLE_EXTENDED_L2) != 0;
      if (extendedL2 && clusterBits < 14) {
        throw Refused.at(20, "extended L2 entries need clusters of 16 KiB or more");
      }
      if (unsigned(h, 96) > 6) {
        throw Refused.at(96, "refcounts of 2^" + unsigned(h, 96) + " bits, 64 is the most");
      }
    }
    if (fileSize >> clusterBits > limits.maxFileClusters()) {
      throw Refused.at(
          0,
          "a file of %d bytes in clusters of %d is over the limit of %d clusters"
              .formatted(fileSize, clusterSize, limits.maxFileClusters()));
    }
    checkExtensions(file, headerLength, Math.min(clusterSize, fileSize));

    Header header =
        new Header(
            version,
            (int) clusterBits,
            h.getLong(24),
            h.getLong(40),
            h.getInt(36),
            h.getLong(48),
            unsigned(h, 56) << clusterBits,
            compression,
            extendedL2);
    header.checkSizes(fileSize, limits);
    header.checkSnapshots(unsigned(h, 60), h.getLong(64), fileSize);
    return header;
  }

  private static Compression checkFeatures(long incompatible, int compressionType)
      throws BadImageException {
    if ((incompatible & INCOMPATIBLE_CORRUPT) != 0) {
      throw Refused.at(72, "it is marked corrupt");
    }
    if ((incompatible & INCOMPATIBLE_DATA_FILE) != 0) {
      throw Refused.at(72, "it keeps its data in another file: an image must stand alone");
    }
    long unknown = incompatible & ~KNOWN_INCOMPATIBLE;
    if (unknown != 0) {
      throw Refused.at(72, "unknown incompatible features 0x%x".formatted(unknown));
    }
    if (compressionType > 1) {
      throw Refused.at(104, "unknown compression type " + compressionType);
    }
    if ((incompatible & INCOMPATIBLE_COMPRESSION) != 0 != (compressionType != 0)) {
      throw Refused.at(104, "compression type and compression feature bit contradict each other");
    }
    return compressionType == 0 ? Compression.ZLIB : Compression.ZSTD;
  }

  /** Refuses a data file name even without its feature bit; skips every other extension. */
  private static void checkExtensions(ByteSource file, long start, long end) throws IOException {
    ByteBuffer area = ByteBuffer.allocate((int) (end - start));
    file.readFully(area, start);
    area.flip();
    while (area.remaining() >= 8) {
      long at = start + area.position();
      int type = area.getInt();
      long length = area.getInt() & 0xffffffffL;
      if (type == EXTENSION_END) {
        return;
      }
      if (type == EXTENSION_DATA_FILE) {
        throw Refused.at(at, "it names a data file: an image must stand alone");
      }
      if (length > area.remaining()) {
        throw Refused.at(at, "a header extension of " + length + " bytes leaves its cluster");
      }
      int padded = (int) Math.min((length + 7) & ~7L, area.remaining());
      area.position(area.position() + padded);
    }
  }

  private void checkSizes(long fileSize, Limits limits) throws BadImageException {
    if (virtualSize < 0 || virtualSize > limits.maxVirtualSize()) {
      throw Refused.at(
          24,
          "virtual size %s is over the limit of %d"
              .formatted(Long.toUnsignedString(virtualSize), limits.maxVirtualSize()));
    }
    if (virtualSize % 512 != 0) {
      throw Refused.at(24, "virtual size " + virtualSize + " is not a multiple of 512");
    }
    long l1Bytes = (l1Entries & 0xffffffffL) * 8;
    if (l1Bytes > MAX_L1_BYTES) {
      throw Refused.at(36, "an L1 table of " + l1Bytes + " bytes, 32 MiB is the most");
    }
    long needed = Math.ceilDiv(virtualSize, l2Coverage());
    if (l1Entries < needed) {
      throw Refused.at(
          36, "the L1 table has %d entries, the disk needs %d".formatted(l1Entries, needed));
    }
    checkTable(40, "L1 table", l1Offset, l1Bytes, fileSize);
    if (refcountTableBytes == 0 || refcountTableBytes > MAX_REFCOUNT_TABLE_BYTES) {
      throw Refused.at(
          56,
          "a refcount table of " + refcountTableBytes + " bytes, 1 cluster to 8 MiB is allowed");
    }
    checkTable(48, "refcount table", refcountTableOffset, refcountTableBytes, fileSize);
    if (l1Bytes > 0
        && l1Offset < refcountTableOffset + refcountTableBytes
        && refcountTableOffset < l1Offset + l1Bytes) {
      throw Refused.at(40, "L1 table and refcount table overlap");
    }
  }

  private void checkSnapshots(long count, long offset, long fileSize) throws BadImageException {
    if (count > MAX_SNAPSHOTS) {
      throw Refused.at(60, count + " snapshots, " + MAX_SNAPSHOTS + " is the most");
    }
    // The shortest snapshot entry has 40 bytes.
    checkTable(64, "snapshot table", offset, count * 40, fileSize);
  }

  private void checkTable(int field, String name, long offset, long bytes, long fileSize)
      throws BadImageException {
    if (bytes == 0) {
      return;
    }
    if ((offset & (clusterSize() - 1)) != 0) {
      throw Refused.at(field, "%s offset 0x%x is not aligned".formatted(name, offset));
    }
    if (offset >= 0 && offset < clusterSize()) {
      throw Refused.at(field, name + " overlaps the header");
    }
    if (offset < 0 || offset > fileSize || bytes > fileSize - offset) {
      throw Refused.at(
          field,
          "%s of %d bytes at 0x%x is outside the file of %d bytes"
              .formatted(name, bytes, offset, fileSize));
    }
  }

  private static long unsigned(ByteBuffer h, int field) {
    return h.getInt(field) & 0xffffffffL;
  }
}
