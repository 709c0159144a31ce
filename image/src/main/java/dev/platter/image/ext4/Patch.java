package dev.platter.image.ext4;

import dev.platter.image.ByteSource;
import dev.platter.image.qcow2.Clusters;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.LongStream;

/** Bytes to lay over a disk, which itself is not changed. */
public final class Patch {
  private final NavigableMap<Long, byte[]> pieces;

  /** Pieces must not overlap; they have whole blocks of the file system. */
  Patch(NavigableMap<Long, byte[]> pieces) {
    this.pieces = Collections.unmodifiableNavigableMap(new TreeMap<>(pieces));
  }

  /** What to write, by its address in the disk. */
  public NavigableMap<Long, byte[]> pieces() {
    return pieces;
  }

  /**
   * The disk with this patch, as far as that differs: what an overlay over the disk begins with.
   */
  public Clusters over(ByteSource disk) {
    long[] addresses =
        pieces.entrySet().stream()
            .flatMapToLong(
                piece -> {
                  long first = piece.getKey() / Clusters.SIZE;
                  long last = (piece.getKey() + piece.getValue().length - 1) / Clusters.SIZE;
                  return LongStream.rangeClosed(first, last);
                })
            .distinct()
            .map(cluster -> cluster * Clusters.SIZE)
            .toArray();
    return new Clusters() {
      @Override
      public long[] addresses() {
        return addresses.clone();
      }

      @Override
      public void read(long address, ByteBuffer into) throws IOException {
        byte[] cluster = new byte[SIZE];
        // What the disk lacks at its end stays zeros.
        disk.readAvailable(ByteBuffer.wrap(cluster), address);
        Long first = pieces.floorKey(address);
        pieces
            .subMap(first == null ? address : first, true, address + SIZE, false)
            .forEach((at, piece) -> lay(piece, at - address, cluster));
        into.put(cluster);
      }
    };
  }

  private static void lay(byte[] piece, long at, byte[] cluster) {
    int from = (int) Math.max(0, -at);
    int to = (int) Math.min(piece.length, cluster.length - at);
    if (from < to) {
      System.arraycopy(piece, from, cluster, (int) (at + from), to - from);
    }
  }
}
