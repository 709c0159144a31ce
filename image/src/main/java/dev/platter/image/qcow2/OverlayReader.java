package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * What an overlay of ours holds itself, after QEMU has written into it: whole clusters, be they
 * data or zeros that hide the base. What lies below is not looked at.
 *
 * <p>Nobody may write meanwhile. Any number of threads may read; 16 bytes of memory are needed for
 * each cluster that is there. What our own writer and QEMU never make of such a file is refused.
 */
public final class OverlayReader implements ClusterReader {
  private static final int CLUSTER = OverlayLayout.CLUSTER;
  private static final int HEADER = 104;
  private static final int MAX_L1_ENTRIES = (32 << 20) / 8;
  private static final long DIRTY = 1;
  private static final long HOST = 0x00ff_ffff_ffff_fe00L;
  private static final long COMPRESSED = 1L << 62;
  private static final long ZERO = 1;

  /** In place of where a cluster is, if it reads as zeros. */
  private static final long NOWHERE = -1;

  private final FileChannel file;
  private final long virtualSize;
  private long[] addresses = new long[1024];
  private long[] hosts = new long[1024];
  private int count;

  private OverlayReader(FileChannel file) throws IOException {
    this.file = file;
    var bytes = ByteSource.of(file);
    var header = ByteBuffer.allocate(HEADER);
    if (!bytes.readAvailable(header, 0) || header.getInt(0) != Header.MAGIC) {
      throw Refused.at(0, "it is no qcow2 file");
    }
    if (header.getInt(4) != 3 || 1L << header.getInt(20) != CLUSTER || header.getInt(32) != 0) {
      throw Refused.at(4, "it is not of the kind that overlays are");
    }
    if ((header.getLong(72) & ~DIRTY) != 0) {
      throw Refused.at(
          72, "it is marked corrupt, or has features 0x%x".formatted(header.getLong(72)));
    }
    virtualSize = header.getLong(24);
    var entries = header.getInt(36);
    var needed = Math.ceilDiv(virtualSize, OverlayLayout.L2_COVERAGE);
    if (virtualSize <= 0 || entries < needed || entries > MAX_L1_ENTRIES) {
      throw Refused.at(36, "an L1 table of " + entries + " entries, it needs " + needed);
    }
    var l1 = ByteBuffer.allocate((int) needed * 8);
    bytes.readFully(l1, header.getLong(40));
    var table = ByteBuffer.allocate(CLUSTER);
    for (var i = 0; i < needed; i++) {
      var l2 = l1.getLong(i * 8) & HOST;
      if (l2 != 0) {
        bytes.readFully(table.clear(), l2);
        addTable(table, i * OverlayLayout.L2_COVERAGE, l2);
      }
    }
    addresses = Arrays.copyOf(addresses, count);
    hosts = Arrays.copyOf(hosts, count);
  }

  public static OverlayReader open(Path path) throws IOException {
    var file = FileChannel.open(path, StandardOpenOption.READ);
    try {
      return new OverlayReader(file);
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  private void addTable(ByteBuffer table, long start, long at) throws BadImageException {
    for (var i = 0; i < OverlayLayout.ENTRIES; i++) {
      var entry = table.getLong(i * 8);
      var address = start + (long) i * CLUSTER;
      var host = entry & HOST;
      if ((entry & COMPRESSED) != 0 || host % CLUSTER != 0) {
        throw Refused.at(at + i * 8L, "a cluster that no overlay has");
      }
      if (address >= virtualSize) {
        return; // A disk that was made smaller.
      }
      if ((entry & ZERO) != 0) {
        add(address, NOWHERE);
      } else if (host != 0) {
        add(address, host);
      }
    }
  }

  private void add(long address, long host) {
    if (count == addresses.length) {
      addresses = Arrays.copyOf(addresses, count * 2);
      hosts = Arrays.copyOf(hosts, count * 2);
    }
    addresses[count] = address;
    hosts[count++] = host;
  }

  @Override
  public long virtualSize() {
    return virtualSize;
  }

  @Override
  public long[] addresses() {
    return addresses.clone();
  }

  /** Whether a cluster, by its number, holds nothing, and only hides what lies below. */
  boolean isZeros(int number) {
    return hosts[number] == NOWHERE;
  }

  @Override
  public void read(int first, ByteBuffer into) throws IOException {
    for (var i = first; into.hasRemaining(); ) {
      var next = i + 1;
      while (next < count
          && (long) (next - i) * CLUSTER < into.remaining()
          && hosts[i] != NOWHERE
          && hosts[next] == hosts[next - 1] + CLUSTER) {
        next++;
      }
      var end = into.position() + (next - i) * CLUSTER;
      if (hosts[i] == NOWHERE) {
        into.put(new byte[CLUSTER]);
      } else {
        readRun(into, end, hosts[i]);
      }
      i = next;
    }
  }

  /** A file may end within its last cluster. */
  private void readRun(ByteBuffer into, int end, long host) throws IOException {
    var limit = into.limit();
    into.limit(end);
    for (var at = host; into.hasRemaining(); ) {
      var n = file.read(into, at);
      if (n < 0) {
        into.put(new byte[into.remaining()]);
      } else {
        at += n;
      }
    }
    into.limit(limit);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
