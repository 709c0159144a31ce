package dev.platter.image.gzip;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Bits of a stream, lowest first, and the exact position of the next one.
 *
 * <p>{@link #bits} holds {@link #count} bits that come before {@code buffer[position]}. What lies
 * above them are bits of that byte, which the next refill sets again to the same values. After the
 * last byte there is a padding of zeros, so that the inner loop may look ahead without asking; who
 * gets through it has read more than there is.
 */
final class BitInput {
  /** With that many bytes in the buffer two refills need no check. */
  static final int LOOK_AHEAD = 16;

  private static final int PADDING = 2 * LOOK_AHEAD;
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Open to {@link Inflate}, which keeps these in registers while it decodes. */
  final byte[] buffer;

  int position;
  int end;
  long bits;
  int count;

  private final InputStream in;
  private final int capacity;
  private long base;
  private boolean ended;

  /** The first byte of {@code in} is byte {@code base} of the file. */
  BitInput(InputStream in, long base, int capacity) {
    this.in = in;
    this.base = base;
    this.capacity = capacity;
    this.buffer = new byte[capacity + PADDING];
  }

  static long load(byte[] bytes, int at) {
    return (long) LONG.get(bytes, at);
  }

  static void store(byte[] bytes, int at, long value) {
    LONG.set(bytes, at, value);
  }

  /** Of the next bit, from the start of the file. */
  long bitPosition() {
    return 8 * (base + position) - count;
  }

  long bytePosition() {
    return bitPosition() >> 3;
  }

  int take(int n) throws IOException {
    int value = peek(n);
    bits >>>= n;
    count -= n;
    checkNotPastEnd();
    return value;
  }

  /** What {@link #take} would give; zeros after the end. */
  int peek(int n) throws IOException {
    if (count < n) {
      refill();
    }
    return (int) (bits & ((1L << n) - 1));
  }

  private void refill() throws IOException {
    if (end - position < LOOK_AHEAD) {
      fill();
    }
    bits |= load(buffer, position) << count;
    position += (63 - count) >>> 3;
    count |= 56;
  }

  /** Skips to the next byte; from here on {@code buffer[position]} is what comes next. */
  void align() {
    position -= count >> 3;
    bits = 0;
    count = 0;
  }

  /** Whether all bytes are used. To be asked at a byte boundary. */
  boolean atEnd() throws IOException {
    align();
    if (!ended && end - position < LOOK_AHEAD) {
      fill();
    }
    return ended && position >= end - PADDING;
  }

  /** To be called when bits were used without {@link #take}. */
  void checkNotPastEnd() throws IOException {
    if (ended && 8L * position - count > 8L * (end - PADDING)) {
      throw endsEarly();
    }
  }

  /** Gets {@link #LOOK_AHEAD} bytes into the buffer. */
  void fill() throws IOException {
    if (ended) {
      throw endsEarly();
    }
    int keep = (8 * position - count) >> 3;
    System.arraycopy(buffer, keep, buffer, 0, end - keep);
    base += keep;
    position -= keep;
    end -= keep;
    while (!ended && end - position < LOOK_AHEAD) {
      int n = in.read(buffer, end, capacity - end);
      if (n < 0) {
        ended = true;
        Arrays.fill(buffer, end, end + PADDING, (byte) 0);
        end += PADDING;
      } else {
        end += n;
      }
    }
  }

  private IOException endsEarly() {
    return Refused.at(base + end - PADDING, "the stream ends too early");
  }
}
