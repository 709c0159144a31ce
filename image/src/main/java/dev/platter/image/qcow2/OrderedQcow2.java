package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.GuestDisk;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.PrimitiveIterator;
import java.util.stream.IntStream;

/**
 * Writes a disk as a qcow2 file from front to back, with what is read first at the front: whoever
 * fetches the file by ranges has every table after one request and a booting guest's data after the
 * next. Clusters are 64 KiB, not compressed; those that are all zeros are not stored.
 *
 * <pre>
 *   header | L1 table | L2 tables | refcount table | refcount blocks | boot order | rest by address
 * </pre>
 *
 * <p>The disk is read twice, first to see which clusters hold data. Memory: one bit for each
 * cluster up to the last one that holds data, and the boot order. The same disk and order give the
 * same bytes.
 */
public final class OrderedQcow2 {
  /** What one number of a boot order stands for, in bytes of the disk. */
  public static final int BLOCK = 1 << 16;

  private static final int CLUSTER_BITS = 16;
  private static final int L2_ENTRIES = BLOCK / 8;
  private static final int REFCOUNTS = BLOCK / 2;
  private static final int HEADER_LENGTH = 104;

  /** Says that a cluster has one user, as all have here. */
  private static final long COPIED = 1L << 63;

  /** Keeps cluster numbers within an int. */
  private static final long MAX_VIRTUAL_SIZE = 64L << 40;

  private static final int CLUSTERS_AT_ONCE = 16;

  private final GuestDisk disk;
  private final long diskSize;
  private final int[] boot;
  private final BitSet data;
  private final BitSet rest;

  private final int l1Entries;
  private final long firstL2;
  private final long refcountTable;
  private final int refcountTableClusters;
  private final long firstRefcountBlock;
  private final long firstData;
  private final long clusters;

  private OrderedQcow2(GuestDisk disk, long diskSize, BitSet data, long[] bootOrder) {
    this.disk = disk;
    this.diskSize = diskSize;
    this.data = data;
    this.rest = (BitSet) data.clone();
    // Clearing as we go leaves each block at its first place in the order.
    this.boot =
        Arrays.stream(bootOrder)
            .filter(block -> block >= 0 && block < data.length())
            .mapToInt(block -> (int) block)
            .filter(
                block -> {
                  boolean first = rest.get(block);
                  rest.clear(block);
                  return first;
                })
            .toArray();

    this.l1Entries = Math.toIntExact(Math.ceilDiv(diskSize, (long) L2_ENTRIES << CLUSTER_BITS));
    this.firstL2 = 1L + Math.ceilDiv(l1Entries, L2_ENTRIES);
    this.refcountTable = firstL2 + countL2Tables();
    long others = refcountTable + data.cardinality();
    long blocks = 0;
    long table = 0;
    // Refcounts count themselves; a larger guess never needs less, so this ends.
    for (long total = -1; total != others + blocks + table; ) {
      total = others + blocks + table;
      blocks = Math.ceilDiv(total, (long) REFCOUNTS);
      table = Math.ceilDiv(blocks, (long) L2_ENTRIES);
    }
    this.refcountTableClusters = (int) table;
    this.firstRefcountBlock = refcountTable + table;
    this.firstData = firstRefcountBlock + blocks;
    this.clusters = firstData + data.cardinality();
  }

  /**
   * Reads the disk once and settles where everything goes.
   *
   * @param bootOrder numbers of 64 KiB blocks in the order in which a booting guest reads them.
   *     Numbers that repeat, hold no data or lie outside the disk are passed over: the order is
   *     advice, it never changes the disk
   */
  public static OrderedQcow2 plan(GuestDisk disk, long... bootOrder) throws IOException {
    long size = disk.virtualSize();
    if (size <= 0 || size > MAX_VIRTUAL_SIZE) {
      throw new BadImageException(
          "a disk of %d bytes: it must have 1 to %d".formatted(size, MAX_VIRTUAL_SIZE));
    }
    return new OrderedQcow2(disk, size, DataBlocks.of(disk), bootOrder);
  }

  /** The size of the disk in bytes, rounded up to a multiple of 512. */
  public long virtualSize() {
    return (diskSize + 511) & ~511L;
  }

  /** The size of the file in bytes. */
  public long size() {
    return clusters << CLUSTER_BITS;
  }

  /** How many bytes at the front of the file hold all tables and the boot order. */
  public long bootPrefix() {
    return (firstData + boot.length) << CLUSTER_BITS;
  }

  /** Writes the file; the stream stays open. */
  public void writeTo(OutputStream out) throws IOException {
    out.write(header());
    writeL1(out);
    writeL2(out);
    writeRefcounts(out);
    writeData(out);
  }

  private int countL2Tables() {
    int count = 0;
    for (int at = data.nextSetBit(0); at >= 0; at = data.nextSetBit(nextTable(at))) {
      count++;
    }
    return count;
  }

  private static int nextTable(int cluster) {
    return (cluster / L2_ENTRIES + 1) * L2_ENTRIES;
  }

  private byte[] header() {
    ByteBuffer h = ByteBuffer.allocate(BLOCK);
    h.putInt(Header.MAGIC).putInt(3);
    h.putLong(0).putInt(0); // no backing file
    h.putInt(CLUSTER_BITS).putLong(virtualSize());
    h.putInt(0); // not encrypted
    h.putInt(l1Entries).putLong(BLOCK);
    h.putLong(refcountTable << CLUSTER_BITS).putInt(refcountTableClusters);
    h.putInt(0).putLong(0); // no snapshots
    h.putLong(0).putLong(0).putLong(0); // no features
    h.putInt(4).putInt(HEADER_LENGTH); // refcounts of 2^4 bits
    return h.array();
  }

  private void writeL1(OutputStream out) throws IOException {
    ByteBuffer l1 = ByteBuffer.allocate((int) (firstL2 - 1) << CLUSTER_BITS);
    long table = firstL2;
    for (int at = data.nextSetBit(0); at >= 0; at = data.nextSetBit(nextTable(at))) {
      l1.putLong(at / L2_ENTRIES * 8, table++ << CLUSTER_BITS | COPIED);
    }
    out.write(l1.array());
  }

  private void writeL2(OutputStream out) throws IOException {
    long[] bootByAddress =
        IntStream.range(0, boot.length).mapToLong(i -> (long) boot[i] << 32 | i).sorted().toArray();
    int nextBoot = 0;
    long nextRest = firstData + boot.length;
    ByteBuffer table = ByteBuffer.allocate(BLOCK);
    for (int at = data.nextSetBit(0); at >= 0; ) {
      int end = nextTable(at);
      Arrays.fill(table.array(), (byte) 0);
      for (; at >= 0 && at < end; at = data.nextSetBit(at + 1)) {
        long host = rest.get(at) ? nextRest++ : firstData + (int) bootByAddress[nextBoot++];
        table.putLong(at % L2_ENTRIES * 8, host << CLUSTER_BITS | COPIED);
      }
      out.write(table.array());
    }
  }

  private void writeRefcounts(OutputStream out) throws IOException {
    ByteBuffer table = ByteBuffer.allocate(refcountTableClusters << CLUSTER_BITS);
    for (long block = firstRefcountBlock; block < firstData; block++) {
      table.putLong(block << CLUSTER_BITS);
    }
    out.write(table.array());
    ByteBuffer block = ByteBuffer.allocate(BLOCK);
    for (long left = clusters; left > 0; left -= REFCOUNTS) {
      Arrays.fill(block.array(), (byte) 0);
      for (int i = 0; i < Math.min(left, REFCOUNTS); i++) {
        block.putShort(2 * i, (short) 1);
      }
      out.write(block.array());
    }
  }

  private void writeData(OutputStream out) throws IOException {
    byte[] buffer = new byte[CLUSTERS_AT_ONCE * BLOCK];
    int first = 0;
    int count = 0;
    PrimitiveIterator.OfInt order = IntStream.concat(Arrays.stream(boot), rest.stream()).iterator();
    while (order.hasNext()) {
      int cluster = order.nextInt();
      if (count == CLUSTERS_AT_ONCE || cluster != first + count) {
        copy(first, count, buffer, out);
        count = 0;
      }
      first = count == 0 ? cluster : first;
      count++;
    }
    copy(first, count, buffer, out);
  }

  private void copy(int first, int count, byte[] buffer, OutputStream out) throws IOException {
    long offset = (long) first << CLUSTER_BITS;
    int length = count << CLUSTER_BITS;
    int present = (int) Math.min(length, diskSize - offset);
    int read = count == 0 ? 0 : disk.read(offset, ByteBuffer.wrap(buffer, 0, length));
    if (read < present) {
      throw new EOFException("the disk became shorter at byte " + offset + " while it was read");
    }
    Arrays.fill(buffer, present, length, (byte) 0);
    out.write(buffer, 0, length);
  }
}
