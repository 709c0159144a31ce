package dev.platter.image.qcow2;

/**
 * Where everything goes in a new overlay, in clusters of the file.
 *
 * @param l1Entries entries of the L1 table, used or not
 */
record OverlayLayout(
    int l1Entries, long refcountBlocks, long firstL1, long firstL2, long firstData, long end) {
  static final int CLUSTER = Clusters.SIZE;
  static final int ENTRIES = CLUSTER / 8;
  static final int REFCOUNTS = CLUSTER / 2;

  /** What one L2 table covers of the disk. */
  static final long L2_COVERAGE = (long) ENTRIES * CLUSTER;

  static final long REFCOUNT_TABLE = 1;

  /**
   * @param addresses of the clusters that have data, ascending
   */
  static OverlayLayout of(long virtualSize, long[] addresses) {
    int l1Entries = Math.toIntExact(Math.ceilDiv(virtualSize, L2_COVERAGE));
    long l1 = Math.ceilDiv(l1Entries, ENTRIES);
    long l2 = countL2Tables(addresses);
    long others = 1 + l1 + l2 + addresses.length;
    long blocks = 0;
    long table = 0;
    // Refcounts count themselves; a larger guess never needs less, so this ends.
    for (long total = -1; total != others + blocks + table; ) {
      total = others + blocks + table;
      blocks = Math.ceilDiv(total, (long) REFCOUNTS);
      table = Math.ceilDiv(blocks, (long) ENTRIES);
    }
    long firstL1 = REFCOUNT_TABLE + table + blocks;
    long firstL2 = firstL1 + l1;
    return new OverlayLayout(
        l1Entries, blocks, firstL1, firstL2, firstL2 + l2, others + blocks + table);
  }

  private static long countL2Tables(long[] addresses) {
    long count = 0;
    for (int i = 0; i < addresses.length; i++) {
      if (i == 0 || addresses[i] / L2_COVERAGE != addresses[i - 1] / L2_COVERAGE) {
        count++;
      }
    }
    return count;
  }

  long firstRefcountBlock() {
    return firstL1 - refcountBlocks;
  }

  int refcountTableClusters() {
    return (int) (firstRefcountBlock() - REFCOUNT_TABLE);
  }
}
