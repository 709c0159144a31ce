package dev.platter.image.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.Digest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * A file that is read anywhere, more than once, from somebody who may answer otherwise each time,
 * such as a web server: it is read from its first to its last byte before, and what is read later
 * has to be the same.
 *
 * <p>At most {@link #MOST_PIECES} digests, which take 14 MiB, and 64 MiB of pieces are in memory.
 */
final class CheckedBytes implements ByteSource {
  private static final int SMALLEST = 256 << 10;
  private static final int LARGEST = 16 << 20;
  private static final int MOST_PIECES = 1 << 18;
  private static final int CACHE = 16 << 20;
  private static final int FEWEST_KEPT = 4;

  private final ByteSource bytes;
  private final long size;
  private final int piece;
  private final byte[][] digests;
  private final Map<Integer, byte[]> kept =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
          return size() > Math.max(FEWEST_KEPT, CACHE / piece);
        }
      };

  private CheckedBytes(ByteSource bytes, long size, int piece) {
    this.bytes = bytes;
    this.size = size;
    this.piece = piece;
    this.digests = new byte[Math.toIntExact(Math.ceilDiv(size, piece))][];
  }

  /**
   * Reads all of it.
   *
   * @param progress is told of each piece, so that it can end this
   * @throws BadImageException if it is not what was meant
   */
  static CheckedBytes of(ByteSource bytes, Digest expected, LongConsumer progress)
      throws IOException {
    long size = bytes.size();
    long least = Math.ceilDiv(size, MOST_PIECES);
    int piece = SMALLEST;
    if (least > LARGEST) {
      throw new BadImageException(
          "it has %d bytes, of which no more than %d can be compared with a digest"
              .formatted(size, (long) MOST_PIECES * LARGEST));
    }
    while (piece < least) {
      piece *= 2;
    }
    var out = new CheckedBytes(bytes, size, piece);
    try (var whole = FileDigest.start()) {
      for (int i = 0; i < out.digests.length; i++) {
        progress.accept(0);
        byte[] read = out.fetch(i);
        whole.update(read, 0, read.length);
        out.digests[i] = hash(read);
      }
      var found = whole.finish();
      if (!found.equals(expected)) {
        throw new BadImageException("the file has the digest " + found + ", not " + expected);
      }
    }
    return out;
  }

  private byte[] fetch(int index) throws IOException {
    long from = (long) index * piece;
    byte[] out = new byte[(int) Math.min(piece, size - from)];
    bytes.readFully(ByteBuffer.wrap(out), from);
    return out;
  }

  private static byte[] hash(byte[] bytes) {
    return Digest.sha256().digest(bytes);
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public int read(ByteBuffer into, long position) throws IOException {
    if (position >= size) {
      return -1;
    }
    byte[] from = checked((int) (position / piece));
    int at = (int) (position % piece);
    int n = Math.min(into.remaining(), from.length - at);
    into.put(from, at, n);
    return n;
  }

  private byte[] checked(int index) throws IOException {
    synchronized (kept) {
      byte[] known = kept.get(index);
      if (known != null) {
        return known;
      }
    }
    byte[] read = fetch(index);
    if (!MessageDigest.isEqual(hash(read), digests[index])) {
      throw new BadImageException(
          "the file is not the same when it is read again, from byte " + (long) index * piece);
    }
    synchronized (kept) {
      kept.put(index, read);
    }
    return read;
  }
}
