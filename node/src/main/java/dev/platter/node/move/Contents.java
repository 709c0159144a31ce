package dev.platter.node.move;

import dev.platter.image.Digest;
import dev.platter.image.qcow2.Clusters;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Which clusters a disk has of its own. They travel in chunks, which are counted by the clusters
 * that there are and not by where these lie.
 *
 * @param size of the disk
 * @param addresses of its clusters, ascending
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Contents(long size, long[] addresses) {
  static final int CHUNK_CLUSTERS = 16;
  static final int CHUNK = CHUNK_CLUSTERS * Clusters.SIZE;
  static final int DIGEST = 32;

  /** Runs are read in steps, so that what a peer claims takes no memory before it is sent. */
  private static final int STEP = 1 << 16;

  int chunks() {
    return Math.ceilDiv(addresses.length, CHUNK_CLUSTERS);
  }

  static int first(int chunk) {
    return chunk * CHUNK_CLUSTERS;
  }

  /** The bytes of a chunk; only the last can be shorter than the others. */
  int length(int chunk) {
    return Math.min(CHUNK_CLUSTERS, addresses.length - first(chunk)) * Clusters.SIZE;
  }

  /** As runs of neighbours: where each begins, and how many they are. */
  void write(DataOutput out) throws IOException {
    out.writeLong(size);
    out.writeInt(addresses.length);
    for (var i = 0; i < addresses.length; ) {
      var start = i++;
      while (i < addresses.length && addresses[i] == addresses[i - 1] + Clusters.SIZE) {
        i++;
      }
      out.writeLong(addresses[start]);
      out.writeInt(i - start);
    }
  }

  static Contents read(DataInput in) throws IOException {
    var size = in.readLong();
    var count = in.readInt();
    if (size <= 0 || count < 0 || count > Math.ceilDiv(size, (long) Clusters.SIZE)) {
      throw new IOException("a disk of %d bytes cannot have %d clusters".formatted(size, count));
    }
    var addresses = new long[Math.min(count, STEP)];
    for (var have = 0; have < count; ) {
      var next = in.readLong();
      var run = in.readInt();
      if (run <= 0 || run > count - have) {
        throw new IOException("a run of " + run + " clusters");
      }
      for (; run > 0; run--, next += Clusters.SIZE) {
        if (have == addresses.length) {
          addresses = Arrays.copyOf(addresses, (int) Math.min(count, 2L * have));
        }
        addresses[have++] = next;
      }
    }
    return new Contents(size, addresses);
  }

  /**
   * What both sides have to agree on at the end.
   *
   * @param digests of all chunks, one after the other
   */
  byte[] root(byte[] digests) {
    var out = Digest.sha256();
    var buffer = ByteBuffer.allocate(STEP).putLong(size);
    for (var address : addresses) {
      if (!buffer.hasRemaining()) {
        out.update(buffer.flip());
        buffer.clear();
      }
      buffer.putLong(address);
    }
    out.update(buffer.flip());
    out.update(digests);
    return out.digest();
  }
}
