package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import org.jspecify.annotations.Nullable;

/**
 * What each cluster of the file was found to be used for, two bits a cluster. Pages of 32768
 * clusters are made when the first of them is claimed, so a sparse file costs what it refers to.
 *
 * <p>Tables and data belong to one owner. That keeps a table from being its own child and a few
 * bytes of file from showing up as terabytes of disk. Compressed clusters are packed side by side
 * and may share.
 */
final class HostMap {
  enum Use {
    TABLE(1, "a table"),
    DATA(2, "data"),
    COMPRESSED(3, "compressed data");

    private final int bits;
    private final String words;

    Use(int bits, String words) {
      this.bits = bits;
      this.words = words;
    }
  }

  private static final int PAGE_CLUSTERS = 1 << 15;

  private final int clusterBits;
  private final long[] @Nullable [] pages;

  HostMap(long fileSize, int clusterBits) {
    this.clusterBits = clusterBits;
    long clusters = Math.ceilDiv(fileSize, 1L << clusterBits);
    this.pages = new long[Math.toIntExact(Math.ceilDiv(clusters, (long) PAGE_CLUSTERS))][];
  }

  /** Claims all clusters of a range inside the file for what the entry at {@code from} says. */
  void claim(long offset, long bytes, Use use, long from) throws BadImageException {
    long last = (offset + bytes - 1) >> clusterBits;
    for (long cluster = offset >> clusterBits; cluster <= last; cluster++) {
      claimOne(cluster, use, from);
    }
  }

  private void claimOne(long cluster, Use use, long from) throws BadImageException {
    int index = (int) (cluster / PAGE_CLUSTERS);
    long[] page = pages[index];
    if (page == null) {
      page = new long[PAGE_CLUSTERS / 32];
      pages[index] = page;
    }
    int word = (int) (cluster % PAGE_CLUSTERS) / 32;
    int shift = (int) (cluster % 32) * 2;
    int before = (int) (page[word] >> shift) & 3;
    if (before == 0) {
      page[word] |= (long) use.bits << shift;
    } else if (use != Use.COMPRESSED || before != Use.COMPRESSED.bits) {
      throw Refused.at(
          from,
          "host cluster 0x%x is %s here and %s elsewhere"
              .formatted(cluster << clusterBits, use.words, wordsFor(before)));
    }
  }

  private static String wordsFor(int bits) {
    for (Use use : Use.values()) {
      if (use.bits == bits) {
        return use.words;
      }
    }
    throw new AssertionError(bits);
  }
}
