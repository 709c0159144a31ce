package dev.platter.image.qcow2;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.platter.image.raw.SparseWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes a qcow2 disk, usually over a base and empty. What takes qemu-img a process and several
 * syncs is four small writes and one sync here, whatever the size of the disk:
 *
 * <pre>
 *   cluster 0   header, name of the backing format, end of extensions, backing file
 *   cluster 1   refcount table: one entry, for
 *   cluster 2   refcount block: a 1 for each cluster of this file
 *   cluster 3.. L1 table, all zero and therefore a hole but for its last byte
 * </pre>
 *
 * A disk that holds something from the start has L2 tables and then its data after that, in order
 * of the disk, and as many refcount tables and blocks as that takes. The same disk gives the same
 * bytes.
 *
 * <p>The file is made under its final name, which must not exist. There is no temporary name: the
 * caller has written down the name before it calls, and after a crash removes what is there. The
 * sync covers the file; that its directory entry is durable is the caller's concern too.
 */
public final class Qcow2Overlay {
  private static final int CLUSTER_BITS = 16;
  private static final int CLUSTER = OverlayLayout.CLUSTER;
  private static final int HEADER_LENGTH = 104;
  private static final int SIZE_AT = 24;
  private static final int EXTENSION_BACKING_FORMAT = 0xE2792ACA;

  /** Says that a cluster has one user, as all have here. */
  private static final long COPIED = 1L << 63;

  /** Where the L1 table reaches the 32 MiB that QEMU opens. */
  private static final long MAX_VIRTUAL_SIZE = (32L << 20) / 8 * OverlayLayout.L2_COVERAGE;

  /** The size of the disk in an overlay of ours; 0 while it is being written. */
  public static long sizeOf(Path overlay) throws IOException {
    try (var file = FileChannel.open(overlay, READ)) {
      var size = ByteBuffer.allocate(Long.BYTES);
      return file.read(size, SIZE_AT) == Long.BYTES ? size.getLong(0) : 0;
    }
  }

  /**
   * What is read where the overlay has nothing.
   *
   * @param path as QEMU takes it: relative to the overlay if not absolute, and with a colon before
   *     the first slash it is not a path but a protocol. At most 1023 bytes in UTF-8
   * @param format always stated, so that QEMU never guesses it from what a guest wrote
   */
  public record Backing(String path, String format) {
    private static final int MAX_PATH = 1023;
    private static final int MAX_FORMAT = 15;

    public Backing {
      encode("backing path", path, MAX_PATH);
      encode("backing format", format, MAX_FORMAT);
    }

    private static byte[] encode(String what, String text, int max) {
      try {
        ByteBuffer bytes = UTF_8.newEncoder().encode(CharBuffer.wrap(text));
        if (bytes.remaining() == 0 || bytes.remaining() > max || text.indexOf('\0') >= 0) {
          throw new IllegalArgumentException(
              "%s of %d bytes: it must have 1 to %d and no NUL"
                  .formatted(what, bytes.remaining(), max));
        }
        byte[] encoded = new byte[bytes.remaining()];
        bytes.get(encoded);
        return encoded;
      } catch (CharacterCodingException e) {
        throw new IllegalArgumentException(what + " cannot be written as UTF-8", e);
      }
    }
  }

  private Qcow2Overlay() {}

  /**
   * Makes an overlay. It may be larger than its backing file and then reads as zeros past its end.
   *
   * @param virtualSize in bytes, rounded up to a multiple of 512
   */
  public static void create(Path path, Backing backing, long virtualSize) throws IOException {
    create(path, backing, virtualSize, Clusters.NONE);
  }

  /** Makes a blank disk. */
  public static void create(Path path, long virtualSize) throws IOException {
    create(path, null, virtualSize, Clusters.NONE);
  }

  /**
   * Makes a disk that already holds some clusters.
   *
   * @param backing what is read elsewhere, zeros if null
   * @param virtualSize in bytes, rounded up to a multiple of 512
   * @param clusters within that size; read once, in order
   */
  public static void create(
      Path path, @Nullable Backing backing, long virtualSize, Clusters clusters)
      throws IOException {
    long size = diskSize(virtualSize);
    long[] addresses = clusters.addresses();
    check(addresses, size);
    var layout = OverlayLayout.of(size, addresses);
    try (FileChannel file = FileChannel.open(path, CREATE_NEW, WRITE)) {
      describe(file, backing, size, layout, addresses);
      ByteBuffer cluster = ByteBuffer.allocateDirect(addresses.length == 0 ? 0 : CLUSTER);
      for (int i = 0; i < addresses.length; i++) {
        clusters.read(addresses[i], cluster.clear());
        SparseWriter.write(file, cluster.flip(), (layout.firstData() + i) * CLUSTER);
      }
      file.force(true);
    }
  }

  /** As a disk can be: whole sectors. */
  static long diskSize(long virtualSize) {
    if (virtualSize <= 0 || virtualSize > MAX_VIRTUAL_SIZE) {
      throw new IllegalArgumentException(
          "virtual size %d: it must be 1 to %d".formatted(virtualSize, MAX_VIRTUAL_SIZE));
    }
    return (virtualSize + 511) & ~511L;
  }

  /** Writes all but the data, into a file that has zeros there. */
  static void describe(
      FileChannel file,
      @Nullable Backing backing,
      long size,
      OverlayLayout layout,
      long[] addresses)
      throws IOException {
    write(file, header(backing, size, layout), 0);
    writeRefcounts(file, layout);
    SparseWriter.extend(file, layout.end() * CLUSTER);
    writeTables(file, layout, addresses);
  }

  /**
   * The same for clusters that lie anywhere in the file, with an L2 table for each stretch of the
   * disk.
   *
   * @param places addresses in the disk to those in the file, ascending
   */
  static void describe(
      FileChannel file,
      @Nullable Backing backing,
      long size,
      OverlayLayout layout,
      Map<Long, Long> places)
      throws IOException {
    write(file, header(backing, size, layout), 0);
    writeRefcounts(file, layout);
    SparseWriter.extend(file, layout.end() * CLUSTER);
    ByteBuffer l1 = ByteBuffer.allocate(layout.l1Entries() * 8);
    for (int i = 0; i < layout.l1Entries(); i++) {
      l1.putLong((layout.firstL2() + i) * CLUSTER | COPIED);
    }
    write(file, l1.flip(), layout.firstL1() * CLUSTER);
    byte[] l2 = new byte[CLUSTER];
    long table = -1;
    for (var place : places.entrySet()) {
      long number = place.getKey() / OverlayLayout.L2_COVERAGE;
      if (number != table) {
        writeL2(file, layout, table, l2);
        table = number;
      }
      int entry = (int) (place.getKey() % OverlayLayout.L2_COVERAGE / CLUSTER);
      ByteBuffer.wrap(l2).putLong(entry * 8, place.getValue() | COPIED);
    }
    writeL2(file, layout, table, l2);
  }

  private static void writeL2(FileChannel file, OverlayLayout layout, long number, byte[] table)
      throws IOException {
    if (number >= 0) {
      SparseWriter.write(file, ByteBuffer.wrap(table), (layout.firstL2() + number) * CLUSTER);
      Arrays.fill(table, (byte) 0);
    }
  }

  static void check(long[] addresses, long size) {
    long next = 0;
    for (long address : addresses) {
      if (address < next || address % CLUSTER != 0 || address >= size) {
        throw new IllegalArgumentException(
            "cluster at %d: it must be a multiple of %d, from %d on and in a disk of %d"
                .formatted(address, CLUSTER, next, size));
      }
      next = address + CLUSTER;
    }
  }

  private static void writeRefcounts(FileChannel file, OverlayLayout layout) throws IOException {
    ByteBuffer table = ByteBuffer.allocate(Math.toIntExact(layout.refcountBlocks() * 8));
    long left = layout.end();
    ByteBuffer block = ByteBuffer.allocate((int) Math.min(left, OverlayLayout.REFCOUNTS) * 2);
    for (long at = layout.firstRefcountBlock(); at < layout.firstL1(); at++) {
      table.putLong(at * CLUSTER);
      block.clear();
      for (long i = Math.min(left, OverlayLayout.REFCOUNTS); i > 0; i--) {
        block.putShort((short) 1);
      }
      write(file, block.flip(), at * CLUSTER);
      left -= OverlayLayout.REFCOUNTS;
    }
    write(file, table.flip(), OverlayLayout.REFCOUNT_TABLE * CLUSTER);
  }

  /** Of each L2 table only the stretch that is used; the rest stays a hole. */
  private static void writeTables(FileChannel file, OverlayLayout layout, long[] addresses)
      throws IOException {
    ByteBuffer table = ByteBuffer.allocate(CLUSTER);
    long l2 = layout.firstL2() * CLUSTER;
    for (int i = 0; i < addresses.length; l2 += CLUSTER) {
      long number = addresses[i] / OverlayLayout.L2_COVERAGE;
      long start = number * OverlayLayout.L2_COVERAGE;
      int first = (int) ((addresses[i] - start) / CLUSTER) * 8;
      Arrays.fill(table.array(), (byte) 0);
      table.clear();
      for (; i < addresses.length && addresses[i] - start < OverlayLayout.L2_COVERAGE; i++) {
        table.position((int) ((addresses[i] - start) / CLUSTER) * 8);
        table.putLong((layout.firstData() + i) * CLUSTER | COPIED);
      }
      write(file, table.flip().position(first), l2 + first);
      ByteBuffer entry = ByteBuffer.allocate(8).putLong(l2 | COPIED).flip();
      write(file, entry, layout.firstL1() * CLUSTER + number * 8);
    }
  }

  private static ByteBuffer header(
      @Nullable Backing backing, long virtualSize, OverlayLayout layout) {
    ByteBuffer h = ByteBuffer.allocate(HEADER_LENGTH + 8 + 16 + 8 + Backing.MAX_PATH);
    h.putInt(Header.MAGIC).putInt(3);
    h.putLong(0).putInt(0); // the backing file, known below
    h.putInt(CLUSTER_BITS);
    h.putLong(virtualSize);
    h.putInt(0); // not encrypted
    h.putInt(layout.l1Entries()).putLong(layout.firstL1() * CLUSTER);
    h.putLong(OverlayLayout.REFCOUNT_TABLE * CLUSTER).putInt(layout.refcountTableClusters());
    h.putInt(0).putLong(0); // no snapshots
    h.putLong(0).putLong(0).putLong(0); // no features
    h.putInt(4).putInt(HEADER_LENGTH); // refcounts of 2^4 bits
    if (backing == null) {
      return h.putLong(0).flip();
    }
    byte[] format = Backing.encode("backing format", backing.format, Backing.MAX_FORMAT);
    h.putInt(EXTENSION_BACKING_FORMAT).putInt(format.length).put(format);
    h.position((h.position() + 7) & ~7);
    h.putLong(0);
    byte[] name = Backing.encode("backing path", backing.path, Backing.MAX_PATH);
    h.putLong(8, h.position()).putInt(16, name.length);
    return h.put(name).flip();
  }

  private static void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      at += file.write(bytes, at);
    }
  }
}
