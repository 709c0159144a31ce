package dev.platter.image;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/**
 * A stream that is read into buffers, without a detour over the heap where neither end is there: a
 * disk of gigabytes is copied as often as its bytes are handed on.
 */
public abstract class BufferStream extends InputStream {
  private static final int PIECE = 64 << 10;

  /** The stream itself, if it is one of these; others are read by way of the heap. */
  public static BufferStream of(InputStream in) {
    return in instanceof BufferStream same ? same : new OfArrays(in);
  }

  /**
   * Reads some bytes, one at least where there is room for it, and waits for them.
   *
   * @return how many; -1 at the end
   */
  public abstract int read(ByteBuffer into) throws IOException;

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    return length == 0 ? 0 : read(ByteBuffer.wrap(into, from, length));
  }

  /** What others made. */
  private static final class OfArrays extends BufferStream {
    private final InputStream in;
    private final byte[] piece = new byte[PIECE];

    OfArrays(InputStream in) {
      this.in = in;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      return in.read(into, from, length);
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
      if (into.hasArray()) {
        int n = in.read(into.array(), into.arrayOffset() + into.position(), into.remaining());
        into.position(into.position() + Math.max(0, n));
        return n;
      }
      int n = in.read(piece, 0, Math.min(PIECE, into.remaining()));
      if (n > 0) {
        into.put(piece, 0, n);
      }
      return n;
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }
}
