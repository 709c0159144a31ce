package dev.platter.image.gzip;

import dev.platter.image.Digest;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Where one can start to decode a gzip file, and digests of what comes out there.
 *
 * <p>A <em>span</em> goes from one checkpoint to the next and is decoded with nothing but its own
 * packed bytes and its window. Spans that meet within a byte share it. A <em>piece</em> is a part
 * of a span that has a digest of its plain bytes: all of it, unless whoever made the index had it
 * cut where a file begins or ends.
 *
 * <p>Stored form, little endian:
 *
 * <pre>
 *   magic and version  8    spans, each            24    pieces, each           40
 *   packed size        8      first bit             8      plain position        8
 *   plain size         8      plain position        8      SHA-256              32
 *   number of spans    4      window, plain size    4    deflated windows, in order
 *   number of pieces   4      window, stored size   4
 * </pre>
 *
 * <p>This object is a view of these bytes. That they lie within their bounds and in order is
 * checked when they are read; whether they are true shows when they are used, as nothing leaves
 * {@link GzipResume} that does not have the right digest. The digests themselves must come from
 * somebody who has seen the file: an index is worth as much as whoever vouches for it.
 */
public final class GzipIndex {
  /** More packed or plain bytes than this are not read for one piece. */
  static final int MAX_PACKED = 64 << 20;

  static final int MAX_PLAIN = 64 << 20;

  /** "PLTRGZI" and the version. */
  static final long MAGIC = 0x02_49_5a_47_52_54_4c_50L;

  static final int HEADER_BYTES = 32;
  static final int SPAN_BYTES = 24;
  static final int PIECE_BYTES = 8 + Digest.BYTES;

  private static final long MAX_SIZE = 1L << 56;
  private static final int SMALLEST_HEADER = 10;
  private static final int TRAILER = 8;

  /** A match of 258 bytes takes two bits. */
  private static final int MAX_RATIO = 4 * 258;

  /** A part of the plain bytes: from {@code start} up to but without {@code end}. */
  public record Piece(long start, long end, PackedRange packed, Digest digest) {}

  private final ByteBuffer bytes;
  private final long packedSize;
  private final long plainSize;
  private final int spans;
  private final int pieces;
  private final int[] windowStarts;

  private GzipIndex(ByteBuffer bytes) throws IOException {
    this.bytes = bytes.slice().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
    int size = this.bytes.limit();
    if (size < HEADER_BYTES || this.bytes.getLong(0) != MAGIC) {
      throw Refused.index("it does not start as one of this version does");
    }
    packedSize = this.bytes.getLong(8);
    plainSize = this.bytes.getLong(16);
    check(packedSize >= 0 && packedSize <= MAX_SIZE, "packed size", packedSize);
    check(plainSize >= 0 && plainSize <= MAX_SIZE, "plain size", plainSize);
    spans = this.bytes.getInt(24);
    pieces = this.bytes.getInt(28);
    int left = size - HEADER_BYTES;
    check(spans >= 1 && spans <= left / SPAN_BYTES, "number of spans", spans);
    left -= spans * SPAN_BYTES;
    check(pieces >= 0 && pieces <= left / PIECE_BYTES, "number of pieces", pieces);
    windowStarts = new int[spans + 1];
    checkSpans();
    checkPieces();
  }

  /** Reads the whole of {@code bytes}, which from then on belong to the index. */
  public static GzipIndex read(ByteBuffer bytes) throws IOException {
    return new GzipIndex(bytes);
  }

  static GzipIndex trusted(ByteBuffer bytes) {
    try {
      return new GzipIndex(bytes);
    } catch (IOException e) {
      throw new AssertionError("an index that was just made is refused", e);
    }
  }

  private void checkSpans() throws IOException {
    check(plainStart(0) == 0, "start of the first span", plainStart(0));
    long windows = pieceRecord(pieces);
    long previousBit = 8 * SMALLEST_HEADER - 1;
    long previousPlain = -1;
    for (int span = 0; span < spans; span++) {
      long bit = firstBit(span);
      long plain = plainStart(span);
      check(bit > previousBit && bit < 8 * (packedSize - TRAILER), "position of span", span);
      check(plain > previousPlain && plain <= plainSize, "plain start", plain);
      if (span > 0) {
        checkRatio(span - 1, plain - previousPlain, bit - previousBit);
      }
      int window = windowSize(span);
      int stored = storedWindowSize(span);
      check(window >= 0 && window <= Math.min(plain, Inflate.WINDOW), "window size", window);
      check(
          window == 0 ? stored == 0 : stored > 0 && stored <= maxDeflated(window),
          "stored window size",
          stored);
      windowStarts[span] = (int) windows;
      windows += stored;
      check(windows <= bytes.limit(), "end of window", windows);
      previousBit = bit;
      previousPlain = plain;
    }
    checkRatio(spans - 1, plainSize - previousPlain, 8 * packedSize - previousBit);
    check(windows == bytes.limit(), "size of the index", bytes.limit());
    windowStarts[spans] = (int) windows;
  }

  /** They cover everything in order, and none goes over the end of a span. */
  private void checkPieces() throws IOException {
    check((pieces == 0) == (plainSize == 0), "number of pieces", pieces);
    long end = 0;
    int span = 0;
    for (int piece = 0; piece < pieces; piece++) {
      long start = pieceStart(piece);
      check(start == end, "start of piece", start);
      end = pieceEnd(piece);
      while (span + 1 < spans && plainStart(span + 1) <= start) {
        span++;
      }
      long spanEnd = span + 1 == spans ? plainSize : plainStart(span + 1);
      check(end > start && end <= spanEnd, "end of piece", end);
    }
  }

  private static void checkRatio(int span, long plain, long bits) throws IOException {
    check(plain / MAX_RATIO <= bits / 8, "plain size for its packed size of span", span);
  }

  private static void check(boolean good, String what, long value) throws IOException {
    if (!good) {
      throw Refused.index(what + " " + value + " cannot be");
    }
  }

  /** The most that deflate makes of so many bytes: stored blocks, and some bytes to spare. */
  static int maxDeflated(int size) {
    return size + 64;
  }

  public void writeTo(OutputStream out) throws IOException {
    byte[] piece = new byte[64 << 10];
    for (int at = 0; at < bytes.limit(); ) {
      int n = Math.min(piece.length, bytes.limit() - at);
      bytes.get(at, piece, 0, n);
      out.write(piece, 0, n);
      at += n;
    }
  }

  /** Bytes of the stored form. */
  public int size() {
    return bytes.limit();
  }

  public long packedSize() {
    return packedSize;
  }

  public long plainSize() {
    return plainSize;
  }

  /** How many pieces there are. The first starts at 0, each other one where one ends. */
  public int pieces() {
    return pieces;
  }

  public Piece piece(int piece) {
    Objects.checkIndex(piece, pieces);
    int span = spanAt(pieceStart(piece));
    byte[] digest = new byte[Digest.BYTES];
    bytes.get(pieceRecord(piece) + 8, digest);
    return new Piece(
        pieceStart(piece),
        pieceEnd(piece),
        new PackedRange(packedStart(span), packedEnd(span)),
        new Digest(digest));
  }

  /** The piece that has the plain byte at a position. */
  public int pieceAt(long plain) {
    Objects.checkIndex(plain, plainSize);
    int low = 0;
    int high = pieces - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (pieceStart(middle) <= plain) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /** Whether a piece can be decoded within bounds that hold for every machine. */
  public boolean isWithinLimits(int piece) {
    int span = spanAt(pieceStart(piece));
    return packedEnd(span) - packedStart(span) <= MAX_PACKED
        && pieceEnd(piece) - plainStart(span) <= MAX_PLAIN;
  }

  /** The last span that starts at or before a plain position. */
  int spanAt(long plain) {
    int low = 0;
    int high = spans - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (plainStart(middle) <= plain) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  int spans() {
    return spans;
  }

  long firstBit(int span) {
    return bytes.getLong(spanRecord(span));
  }

  long plainStart(int span) {
    return bytes.getLong(spanRecord(span) + 8);
  }

  private int windowSize(int span) {
    return bytes.getInt(spanRecord(span) + 16);
  }

  private int storedWindowSize(int span) {
    return bytes.getInt(spanRecord(span) + 20);
  }

  long packedStart(int span) {
    return firstBit(span) / 8;
  }

  long packedEnd(int span) {
    return span + 1 == spans ? packedSize : Math.ceilDiv(firstBit(span + 1), 8);
  }

  private long pieceStart(int piece) {
    return bytes.getLong(pieceRecord(piece));
  }

  private long pieceEnd(int piece) {
    return piece + 1 == pieces ? plainSize : pieceStart(piece + 1);
  }

  /** The plain bytes before a span, as far as it refers to them. */
  byte[] window(int span) throws IOException {
    byte[] window = new byte[windowSize(span)];
    try (Inflater inflater = new Inflater(true)) {
      int start = windowStarts[span];
      inflater.setInput(bytes.slice(start, windowStarts[span + 1] - start));
      byte[] oneMore = new byte[window.length + 1];
      int n = window.length == 0 ? 0 : inflater.inflate(oneMore);
      if (n != window.length || inflater.getRemaining() > 0) {
        throw Refused.index("the window of span " + span + " has another size than it says");
      }
      System.arraycopy(oneMore, 0, window, 0, n);
      return window;
    } catch (DataFormatException e) {
      throw Refused.index("the window of span " + span + " is corrupt");
    }
  }

  private static int spanRecord(int span) {
    return HEADER_BYTES + span * SPAN_BYTES;
  }

  private int pieceRecord(int piece) {
    return HEADER_BYTES + spans * SPAN_BYTES + piece * PIECE_BYTES;
  }
}
