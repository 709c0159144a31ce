package dev.platter.image.qcow2;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.platter.image.raw.SparseWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A qcow2 disk whose clusters come in any order, and of which nobody knows beforehand how many
 * there will be. All tables that a full disk of its size could need lie before the data; what is
 * not needed of them is a hole. Until {@link #finish} the file is no disk.
 *
 * <p>The same clusters in the same order give the same bytes.
 */
public final class Qcow2Appender implements Closeable {
  private static final int CLUSTER = OverlayLayout.CLUSTER;

  private final FileChannel file;
  private final long size;
  private final OverlayLayout front;
  private final Map<Long, Long> places = new TreeMap<>();

  private Qcow2Appender(FileChannel file, long size) {
    this.file = file;
    this.size = size;
    long tables = Math.ceilDiv(size, OverlayLayout.L2_COVERAGE);
    long l1 = Math.ceilDiv(tables, (long) OverlayLayout.ENTRIES);
    long most = 2 * Math.ceilDiv(size, (long) CLUSTER);
    long blocks = Math.ceilDiv(most, (long) OverlayLayout.REFCOUNTS) + 1;
    long firstL1 =
        OverlayLayout.REFCOUNT_TABLE + Math.ceilDiv(blocks, (long) OverlayLayout.ENTRIES) + blocks;
    long firstL2 = firstL1 + l1;
    long firstData = firstL2 + tables;
    this.front =
        new OverlayLayout(Math.toIntExact(tables), blocks, firstL1, firstL2, firstData, firstData);
  }

  /**
   * @param path must not exist
   * @param virtualSize in bytes, rounded up to a multiple of 512
   */
  public static Qcow2Appender create(Path path, long virtualSize) throws IOException {
    long size = Qcow2Overlay.diskSize(virtualSize);
    return new Qcow2Appender(FileChannel.open(path, CREATE_NEW, WRITE), size);
  }

  /**
   * Writes one cluster, which was not written before.
   *
   * @param address in the disk
   */
  public void append(long address, ByteBuffer cluster) throws IOException {
    if (address < 0
        || address >= size
        || address % CLUSTER != 0
        || cluster.remaining() != CLUSTER) {
      throw new IllegalArgumentException("no cluster of the disk: " + address);
    }
    long place = (front.firstData() + places.size()) * CLUSTER;
    if (places.putIfAbsent(address, place) != null) {
      throw new IllegalArgumentException("the cluster at " + address + " is there already");
    }
    SparseWriter.write(file, cluster, place);
  }

  /** Makes a disk of the file, and syncs it. */
  public void finish(Qcow2Overlay.@Nullable Backing backing) throws IOException {
    var layout =
        new OverlayLayout(
            front.l1Entries(),
            front.refcountBlocks(),
            front.firstL1(),
            front.firstL2(),
            front.firstData(),
            front.firstData() + places.size());
    Qcow2Overlay.describe(file, backing, size, layout, places);
    file.force(true);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
