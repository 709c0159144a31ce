package dev.platter.image.gzip;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.Deflater;

/** Collects what goes into a {@link GzipIndex}, in the form in which it is stored. */
final class IndexBuilder {
  private static final int MAX_SPACING = 8 << 20;

  /** Where a member begins, a checkpoint costs next to nothing. */
  private static final int MEMBER_SPACING = 256 << 10;

  private static final int WINDOW_BYTES_PER_SPACING = 16 << 20;

  private final ByteArrayOutputStream spans = new ByteArrayOutputStream();
  private final ByteArrayOutputStream pieces = new ByteArrayOutputStream();
  private final ByteArrayOutputStream windows = new ByteArrayOutputStream();
  private final int spacing;
  private int count;

  private long startBit;
  private long startPlain = -1;
  private byte[] window = new byte[0];
  private final boolean[] used = new boolean[Inflate.WINDOW];

  IndexBuilder(int spacing) {
    this.spacing = spacing;
  }

  boolean wantsCheckpoint(long plain, boolean firstOfMember) {
    if (startPlain < 0) {
      return true;
    }
    int doublings = windows.size() / WINDOW_BYTES_PER_SPACING;
    int wanted = (int) Math.min((long) spacing << Math.min(doublings, 30), MAX_SPACING);
    int distance = firstOfMember ? Math.min(MEMBER_SPACING, wanted) : wanted;
    return plain - startPlain >= distance;
  }

  /** Returns where to mark which bytes of the window are referred to. */
  boolean[] startSpan(long bit, long plain, byte[] before) {
    startBit = bit;
    startPlain = plain;
    window = before;
    Arrays.fill(used, false);
    return used;
  }

  void endSpan() {
    byte[] needed = neededWindow();
    byte[] stored = deflated(needed);
    windows.writeBytes(stored);
    count++;
    ByteBuffer record =
        ByteBuffer.allocate(GzipIndex.SPAN_BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(startBit)
            .putLong(startPlain)
            .putInt(needed.length)
            .putInt(stored.length);
    spans.writeBytes(record.array());
  }

  /** Zeros in place of what nobody refers to, as they deflate to nothing. */
  private byte[] neededWindow() {
    int hidden = used.length - window.length;
    int first = hidden;
    while (first < used.length && !used[first]) {
      first++;
    }
    byte[] needed = new byte[used.length - first];
    for (int i = first; i < used.length; i++) {
      if (used[i]) {
        needed[i - first] = window[i - hidden];
      }
    }
    return needed;
  }

  private static byte[] deflated(byte[] bytes) {
    if (bytes.length == 0) {
      return bytes;
    }
    try (Deflater deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true)) {
      deflater.setInput(bytes);
      deflater.finish();
      byte[] out = new byte[GzipIndex.maxDeflated(bytes.length)];
      int n = deflater.deflate(out);
      if (!deflater.finished()) {
        throw new AssertionError("deflate made " + bytes.length + " bytes longer than it can");
      }
      return Arrays.copyOf(out, n);
    }
  }

  void piece(long plain, byte[] digest) {
    ByteBuffer start = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(plain);
    pieces.writeBytes(start.array());
    pieces.writeBytes(digest);
  }

  GzipIndex build(long packedSize, long plainSize) {
    long size = (long) GzipIndex.HEADER_BYTES + spans.size() + pieces.size() + windows.size();
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(size)).order(ByteOrder.LITTLE_ENDIAN);
    bytes.putLong(GzipIndex.MAGIC).putLong(packedSize).putLong(plainSize);
    bytes.putInt(count).putInt(pieces.size() / GzipIndex.PIECE_BYTES);
    bytes.put(spans.toByteArray()).put(pieces.toByteArray()).put(windows.toByteArray()).flip();
    return GzipIndex.trusted(bytes);
  }
}
