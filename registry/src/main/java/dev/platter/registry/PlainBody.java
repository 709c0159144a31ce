package dev.platter.registry;

import dev.platter.image.BufferStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.ProtocolException;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The body of an answer of {@link PlainGet}: of a known length, in chunks, or to the end. */
final class PlainBody extends BufferStream {
  static final long CHUNKED = -1;
  static final long UNTIL_CLOSED = -2;

  private static final int LONGEST_LINE = 256;
  private static final int MOST_TRAILERS = 64;

  private final PlainConnection connection;
  private final String what;
  private final @Nullable Runnable again;
  private final Runnable over;
  private final AtomicBoolean released = new AtomicBoolean();
  private final boolean chunked;
  private final boolean measured;
  private long left;
  private long count;
  private boolean inChunk;
  private boolean ended;

  /**
   * @param again takes the connection for the next request, if it is good for one
   */
  PlainBody(
      PlainConnection connection,
      long length,
      String what,
      @Nullable Runnable again,
      Runnable over) {
    this.connection = connection;
    this.what = what;
    this.again = again;
    this.over = over;
    this.chunked = length == CHUNKED;
    this.measured = length != UNTIL_CLOSED;
    this.left = length == UNTIL_CLOSED ? Long.MAX_VALUE : Math.max(0, length);
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    if (!into.hasRemaining()) {
      return 0;
    }
    try {
      int n = ended ? -1 : next(into);
      count += Math.max(0, n);
      if (n < 0) {
        ended = true;
        release(measured);
      }
      return n;
    } catch (ClosedByInterruptException e) {
      close();
      throw new InterruptedIOException("interrupted while reading " + what);
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Fails before bytes are given, never after: whoever goes on elsewhere has counted them. */
  private int next(ByteBuffer into) throws IOException {
    if (left == 0 && (!chunked || !nextChunk())) {
      return -1;
    }
    int limit = into.limit();
    into.limit(into.position() + (int) Math.min(into.remaining(), left));
    int n = connection.read(into);
    into.limit(limit);
    if (n < 0 && measured) {
      throw new EOFException("the connection broke");
    }
    left -= Math.max(0, n);
    return n;
  }

  /** False behind the last one. */
  private boolean nextChunk() throws IOException {
    if (inChunk && !connection.line(LONGEST_LINE).isEmpty()) {
      throw new ProtocolException("a chunk is longer than it says");
    }
    inChunk = true;
    String size = connection.line(LONGEST_LINE).replaceFirst("[ \\t]*(;.*)?$", "");
    if (!size.matches("[0-9A-Fa-f]{1,15}")) {
      throw new ProtocolException("a chunk does not begin with its length");
    }
    left = Long.parseLong(size, 16);
    for (int i = 0; left == 0 && !connection.line(LONGEST_LINE).isEmpty(); i++) {
      if (i == MOST_TRAILERS) {
        throw new ProtocolException("too much follows the last chunk");
      }
    }
    return left > 0;
  }

  private RegistryException broken(IOException cause) {
    ended = true;
    release(false);
    return new RegistryException(
        RegistryException.Kind.UNAVAILABLE,
        (cause instanceof HttpTimeoutException ? cause.getMessage() : "the connection broke")
            + " after "
            + count
            + " bytes of "
            + what
            + "; try again",
        cause);
  }

  /** Whoever has read all bytes need not have seen that they end. */
  @Override
  public void close() {
    boolean whole = !ended && !chunked && left == 0;
    ended = true;
    release(whole);
  }

  private void release(boolean whole) {
    if (released.getAndSet(true)) {
      return;
    }
    try {
      if (whole && again != null) {
        again.run();
      } else {
        connection.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      over.run();
    }
  }
}
