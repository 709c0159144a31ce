package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.stream.OutOfOrder;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.TreeMap;

/**
 * Bytes of a file that came before the table which tells what they are. The oldest go when there
 * are too many: nearly always those are refcounts, or nothing.
 */
final class EarlyBytes {
  static final long MOST = 64 << 20;

  /** What a piece takes beside its bytes, of which there may be few. */
  private static final int PIECE_COST = 96;

  private final TreeMap<Long, byte[]> kept = new TreeMap<>();
  private long total;
  private long left;

  /** Bytes are kept in the order of the file. */
  void keep(long host, ByteBuffer bytes) {
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    kept.put(host, copy);
    total += copy.length + PIECE_COST;
    left += copy.length;
    while (total > MOST) {
      total -= kept.pollFirstEntry().getValue().length + PIECE_COST;
    }
  }

  /**
   * @param least how many of these are used, of which there must be so many; used twice they are
   *     refused, so that a few bytes do not show up as a large disk
   * @throws OutOfOrder if they are not here any more
   */
  ByteBuffer take(long host, int length, int least) throws BadImageException {
    left -= least;
    if (left < 0) {
      throw Refused.at(host, "the clusters claim more bytes than the file has");
    }
    ByteBuffer out = ByteBuffer.allocateDirect(length);
    while (out.hasRemaining()) {
      long at = host + out.position();
      Map.Entry<Long, byte[]> piece = kept.floorEntry(at);
      int skip = piece == null ? 0 : (int) Math.min(Integer.MAX_VALUE, at - piece.getKey());
      if (piece == null || skip >= piece.getValue().length) {
        if (out.position() >= least) {
          return out.flip();
        }
        throw new OutOfOrder(
            "the table for what is at byte %d of the qcow2 comes later".formatted(at));
      }
      int n = Math.min(out.remaining(), piece.getValue().length - skip);
      out.put(piece.getValue(), skip, n);
    }
    return out.flip();
  }
}
