package dev.platter.image.gzip;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Objects;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Where one can start to decode a gzip file, and digests of what goes in and comes out there.
 *
 * <p>A <em>span</em> goes from one checkpoint to the next and is decoded with nothing but its own
 * packed bytes and its window. Spans that meet within a byte share it. A <em>chunk</em> is 256 KiB
 * of plain bytes, the last one may be shorter; chunks do not care about spans.
 *
 * <p>Stored form, little endian, whose SHA-256 is the name of the index:
 *
 * <pre>
 *   magic and version  8    spans, each            56    digest of each chunk   32
 *   packed size        8      first bit             8    deflated windows, in order
 *   plain size         8      plain position        8
 *   SHA-256 of file   32      window, plain size    4
 *   chunk size         4      window, stored size   4
 *   number of spans    4      SHA-256 of its bytes 32
 * </pre>
 *
 * <p>This object is a view of these bytes. That they lie within their bounds and in order is
 * checked when they are read; whether they are true shows when they are used, as nothing leaves
 * {@link GzipResume} that does not have the right digest. The digests themselves must come from
 * somebody who has seen the file: an index is worth as much as whoever vouches for its name.
 */
public final class GzipIndex {
  /** Plain bytes under one digest. */
  public static final int CHUNK = 256 << 10;

  /** More packed or plain bytes than this are not read for one range. */
  static final int MAX_PACKED = 64 << 20;

  static final int MAX_PLAIN = 256 << 20;

  /** "PLTRGZI" and the version. */
  static final long MAGIC = 0x01_49_5a_47_52_54_4c_50L;

  static final int HEADER_BYTES = 64;
  static final int SPAN_BYTES = 24 + Sha256.BYTES;

  private static final int PACKED_DIGEST = 24;
  private static final long MAX_SIZE = 1L << 56;
  private static final int SMALLEST_HEADER = 10;
  private static final int TRAILER = 8;

  /** A match of 258 bytes takes two bits. */
  private static final int MAX_RATIO = 4 * 258;

  private final ByteBuffer bytes;
  private final long packedSize;
  private final long plainSize;
  private final int spans;
  private final int chunks;
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
    check(this.bytes.getInt(56) == CHUNK, "chunk size", this.bytes.getInt(56));
    spans = this.bytes.getInt(60);
    long chunkCount = Math.ceilDiv(plainSize, CHUNK);
    long left = size - HEADER_BYTES - chunkCount * Sha256.BYTES;
    check(spans >= 1 && spans <= left / SPAN_BYTES, "number of spans", spans);
    chunks = Math.toIntExact(chunkCount);
    windowStarts = new int[spans + 1];
    checkSpans();
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
    long windows = chunkDigestAt(chunks);
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

  /** SHA-256 of the gzip file. */
  public byte[] packedDigest() {
    return bytesAt(PACKED_DIGEST, Sha256.BYTES);
  }

  /**
   * What to fetch for all chunks that have a plain byte from {@code from} up to but without {@code
   * to}. Refused if that is more than 64 MiB, or means to decode more than 256 MiB.
   */
  public PackedRange rangeFor(long from, long to) throws IOException {
    int first = spanAt(firstChunk(from, to) * (long) CHUNK);
    long plainEnd = Math.min(plainSize, endChunk(to) * (long) CHUNK);
    int last = spanAt(plainEnd - 1);
    PackedRange range = new PackedRange(packedStart(first), packedEnd(last));
    if (range.end() - range.start() > MAX_PACKED || plainEnd - plainStart(first) > MAX_PLAIN) {
      throw Refused.at(
          range.start(),
          "plain bytes %d to %d need %d bytes from here on, which is too much to fetch at once"
              .formatted(from, to, range.end() - range.start()));
    }
    return range;
  }

  int firstChunk(long from, long to) {
    Objects.checkFromToIndex(from, to, plainSize);
    if (from == to) {
      throw new IllegalArgumentException("an empty range");
    }
    return (int) (from / CHUNK);
  }

  static int endChunk(long to) {
    return (int) Math.ceilDiv(to, CHUNK);
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

  boolean isPackedDigest(int span, byte[] digest) {
    return MessageDigest.isEqual(digest, bytesAt(spanRecord(span) + 24, Sha256.BYTES));
  }

  boolean isChunkDigest(int chunk, byte[] digest) {
    return MessageDigest.isEqual(digest, bytesAt((int) chunkDigestAt(chunk), Sha256.BYTES));
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

  private long chunkDigestAt(int chunk) {
    return HEADER_BYTES + (long) spans * SPAN_BYTES + (long) chunk * Sha256.BYTES;
  }

  private byte[] bytesAt(int at, int length) {
    byte[] copy = new byte[length];
    bytes.get(at, copy);
    return copy;
  }
}
