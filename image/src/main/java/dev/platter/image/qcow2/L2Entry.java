package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;

/**
 * How an L2 entry is read, and which entries are refused. An entry is a long and, with extended L2,
 * a second long of bits for its 32 subclusters; without it the 32 behave alike. Entries are passed
 * as they are on disk rather than as objects, because there are millions.
 *
 * <p>Two traps of the format: in a compressed entry all low bits, bit 0 too, belong to the offset,
 * so the zero flag must not be looked for there; and the length of compressed data is a number of
 * sectors, an upper bound that may pass the end of the file.
 */
final class L2Entry {
  static final int SUBCLUSTERS = 32;
  static final int ALL = -1;

  private static final long COMPRESSED = 1L << 62;
  private static final long ZERO = 1;
  private static final long OFFSET = 0x00fffffffffffe00L;
  private static final long RESERVED = 0x3f000000000001feL;

  private final Header header;
  private final long fileSize;
  private final int lengthShift;

  L2Entry(Header header, long fileSize) {
    this.header = header;
    this.fileSize = fileSize;
    this.lengthShift = 62 - (header.clusterBits() - 8);
  }

  static boolean isCompressed(long entry) {
    return (entry & COMPRESSED) != 0;
  }

  /** Where a standard cluster lies; 0 if it has no place in the file. */
  static long host(long entry) {
    return entry & OFFSET;
  }

  long compressedHost(long entry) {
    return entry & ((1L << lengthShift) - 1);
  }

  /** How many bytes the entry says the stream has at most; no more than two clusters. */
  int compressedBound(long entry) {
    int sectors = (int) ((entry & (COMPRESSED - 1)) >>> lengthShift) + 1;
    return sectors * 512 - (int) (compressedHost(entry) & 511);
  }

  /** Which subclusters of a standard cluster are read from the file; all others read as zeros. */
  int dataBits(long entry, long bitmap) {
    if (host(entry) == 0) {
      return 0;
    }
    if (header.extendedL2()) {
      return (int) bitmap;
    }
    return (entry & ZERO) == 0 ? ALL : 0;
  }

  /** Refuses an entry, found at {@code at}, that is against the format or leaves the file. */
  void check(long entry, long bitmap, long at) throws BadImageException {
    if (isCompressed(entry)) {
      long host = compressedHost(entry);
      if (host < header.clusterSize() || host >= fileSize) {
        throw Refused.at(at, "compressed data at 0x%x is outside the file".formatted(host));
      }
      if (bitmap != 0) {
        throw Refused.at(at, "a compressed cluster has subclusters");
      }
      return;
    }
    if ((entry & RESERVED) != 0) {
      throw Refused.at(at, "reserved bits are set in L2 entry 0x%016x".formatted(entry));
    }
    if ((entry & ZERO) != 0 && (header.version() < 3 || header.extendedL2())) {
      throw Refused.at(
          at, "L2 entry 0x%016x has a zero flag, which this image cannot have".formatted(entry));
    }
    long host = host(entry);
    if ((host & (header.clusterSize() - 1)) != 0) {
      throw Refused.at(at, "data cluster 0x%x is not aligned".formatted(host));
    }
    if (host >= fileSize) {
      throw Refused.at(at, "data cluster 0x%x is outside the file".formatted(host));
    }
    if (header.extendedL2()) {
      checkBitmap(host, bitmap, at);
    }
  }

  private static void checkBitmap(long host, long bitmap, long at) throws BadImageException {
    int allocated = (int) bitmap;
    int zero = (int) (bitmap >>> 32);
    if ((allocated & zero) != 0) {
      throw Refused.at(at, "a subcluster is both allocated and zero (0x%016x)".formatted(bitmap));
    }
    if (host == 0 && allocated != 0) {
      throw Refused.at(at, "subclusters of a cluster without a place are allocated");
    }
  }
}
