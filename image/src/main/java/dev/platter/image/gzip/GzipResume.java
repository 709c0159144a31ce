package dev.platter.image.gzip;

import dev.platter.image.Digest;
import java.io.IOException;

/**
 * Decodes pieces out of the middle of a gzip file, each compared with the index before anybody gets
 * it. Holds no state but the index: any number of threads may use it.
 */
public final class GzipResume {
  private static final int SKIP = 64 << 10;

  private final GzipIndex index;
  private final boolean zlib;

  public GzipResume(GzipIndex index) {
    this(index, ZlibReader.works());
  }

  GzipResume(GzipIndex index, boolean zlib) {
    this.index = index;
    this.zlib = zlib;
  }

  /** The plain bytes of a piece; {@code packed} are those of its packed range. */
  public byte[] decode(int number, byte[] packed) throws IOException {
    GzipIndex.Piece piece = index.piece(number);
    PackedRange range = piece.packed();
    if (!index.isWithinLimits(number)) {
      throw Refused.at(
          range.start(),
          "plain bytes %d to %d take too much".formatted(piece.start(), piece.end()));
    }
    if (packed.length != range.length()) {
      throw Refused.at(
          range.start(), "%d bytes, the index says %d".formatted(packed.length, range.length()));
    }
    int span = index.spanAt(piece.start());
    int bit = (int) (index.firstBit(span) % 8);
    byte[] plain = new byte[(int) (piece.end() - piece.start())];
    try (PlainReader reader =
        zlib
            ? new ZlibReader(packed, range.start(), bit, index.window(span))
            : new JavaReader(packed, range.start(), bit, index.window(span))) {
      byte[] skipped = new byte[SKIP];
      for (long left = piece.start() - index.plainStart(span); left > 0; left -= SKIP) {
        fill(reader, skipped, (int) Math.min(left, SKIP), range);
      }
      fill(reader, plain, plain.length, range);
    }
    Digest found = Digest.of(plain);
    if (!found.equals(piece.digest())) {
      throw Refused.at(
          range.start(),
          "the plain bytes from %d on have the digest %s, the index says %s"
              .formatted(piece.start(), found, piece.digest()));
    }
    return plain;
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
