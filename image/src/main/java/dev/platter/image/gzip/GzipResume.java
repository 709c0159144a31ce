package dev.platter.image.gzip;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;

/**
 * Decodes chunks out of the middle of a gzip file. The packed bytes are compared with the index
 * before zlib sees them, and each chunk before anybody else does. Holds no state but the index: any
 * number of threads may use it.
 */
public final class GzipResume {
  /** Takes chunks, in order. */
  public interface Chunks {
    /**
     * {@code chunk} starts at plain position {@code position}. It is used again for the next one.
     */
    void chunk(long position, ByteBuffer chunk) throws IOException;
  }

  private final GzipIndex index;
  private final boolean zlib;

  public GzipResume(GzipIndex index) {
    this(index, ZlibReader.works());
  }

  GzipResume(GzipIndex index, boolean zlib) {
    this.index = index;
    this.zlib = zlib;
  }

  /**
   * Decodes all chunks that have a plain byte from {@code from} up to but without {@code to}.
   * {@code packed} are the bytes of {@link GzipIndex#rangeFor} for the same positions.
   */
  public void decode(long from, long to, byte[] packed, Chunks chunks) throws IOException {
    PackedRange range = index.rangeFor(from, to);
    if (packed.length != range.length()) {
      throw new IllegalArgumentException(
          packed.length + " packed bytes, the range has " + range.length());
    }
    int firstChunk = index.firstChunk(from, to);
    int first = index.spanAt((long) firstChunk * GzipIndex.CHUNK);
    checkPacked(first, range, packed);
    int bit = (int) (index.firstBit(first) % 8);
    try (PlainReader reader = reader(packed, range.start(), bit, index.window(first))) {
      byte[] buffer = new byte[GzipIndex.CHUNK];
      long skip = (long) firstChunk * GzipIndex.CHUNK - index.plainStart(first);
      while (skip > 0) {
        int n = (int) Math.min(skip, buffer.length);
        fill(reader, buffer, n, range);
        skip -= n;
      }
      for (int chunk = firstChunk; chunk < GzipIndex.endChunk(to); chunk++) {
        long position = (long) chunk * GzipIndex.CHUNK;
        int n = (int) Math.min(GzipIndex.CHUNK, index.plainSize() - position);
        fill(reader, buffer, n, range);
        MessageDigest sha = Sha256.start();
        sha.update(buffer, 0, n);
        if (!index.isChunkDigest(chunk, sha.digest())) {
          throw Refused.at(range.start(), "the plain bytes from " + position + " on are wrong");
        }
        chunks.chunk(position, ByteBuffer.wrap(buffer, 0, n));
      }
    }
  }

  private void checkPacked(int first, PackedRange range, byte[] packed) throws IOException {
    for (int span = first; span < index.spans() && index.packedEnd(span) <= range.end(); span++) {
      MessageDigest sha = Sha256.start();
      long start = index.packedStart(span);
      sha.update(packed, (int) (start - range.start()), (int) (index.packedEnd(span) - start));
      if (!index.isPackedDigest(span, sha.digest())) {
        throw Refused.at(start, "the packed bytes are not those that were indexed");
      }
    }
  }

  private PlainReader reader(byte[] packed, long base, int bit, byte[] window) throws IOException {
    return zlib
        ? new ZlibReader(packed, base, bit, window)
        : new JavaReader(packed, base, bit, window);
  }

  private static void fill(PlainReader reader, byte[] into, int length, PackedRange range)
      throws IOException {
    for (int at = 0; at < length; ) {
      int n = reader.read(into, at, length - at);
      if (n < 0) {
        throw Refused.at(range.end(), "there is less in these bytes than the index says");
      }
      at += n;
    }
  }
}
