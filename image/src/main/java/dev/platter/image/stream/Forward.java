package dev.platter.image.stream;

import dev.platter.image.BufferStream;
import dev.platter.image.ByteSource;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A file that is looked at from its front on, through a window. Of a stream, what is behind the
 * window is gone; a file that can be read anywhere is gone back in. Belongs to one thread.
 */
public final class Forward {
  /** The most that is shown at once: what a packed cluster of 2 MiB can take in a qcow2. */
  public static final int MOST = 4 << 20;

  private static final int READ = 64 << 10;
  private static final int PAGE = 4096;

  private final @Nullable BufferStream stream;
  private final @Nullable ByteSource file;
  private ByteBuffer window = room(READ * 4);
  private long start;
  private int filled;
  private boolean ended;

  private Forward(@Nullable BufferStream stream, @Nullable ByteSource file) {
    this.stream = stream;
    this.file = file;
  }

  public static Forward of(InputStream stream) {
    return new Forward(BufferStream.of(stream), null);
  }

  public static Forward of(ByteSource file) {
    return new Forward(null, file);
  }

  /** Whether what has passed by is gone. */
  public boolean isStream() {
    return stream != null;
  }

  /**
   * Bytes from a position on: as many as are asked for, fewer where the file ends. Good until the
   * next call.
   *
   * @throws OutOfOrder if they are gone
   */
  public ByteBuffer at(long position, int length) throws IOException {
    if (position < 0 || length > MOST) {
      throw new IllegalArgumentException(length + " bytes at " + position);
    }
    if (position < start || (file != null && position > start + filled)) {
      goTo(position);
    }
    while (!ended && position > start + filled) {
      start += filled;
      filled = 0;
      fill((int) Math.min(READ, position - start));
    }
    if (!ended && position + length > start + filled) {
      keepFrom(position, length);
      fill(length);
    }
    int skip = (int) Math.min(filled, position - start);
    return window.slice(skip, Math.min(length, filled - skip));
  }

  /** The same, where fewer bytes are a broken file. */
  public ByteBuffer fully(long position, int length) throws IOException {
    ByteBuffer bytes = at(position, length);
    if (bytes.remaining() < length) {
      throw new EOFException(
          "it ends at byte " + (start + filled) + ", in the middle of what is at " + position);
    }
    return bytes;
  }

  /** How far the file was looked at; its end, if fewer bytes were shown than asked for. */
  public long seen() {
    return start + filled;
  }

  private void goTo(long position) throws IOException {
    if (file == null) {
      throw new OutOfOrder("byte " + position + " of the file is needed after it has passed");
    }
    start = position;
    filled = 0;
    ended = false;
  }

  /** From a page on, as devices want it. */
  private static ByteBuffer room(int bytes) {
    return ByteBuffer.allocateDirect(bytes + PAGE).alignedSlice(PAGE);
  }

  /** Moves what is from a position on to the front of a window that has room for as much. */
  private void keepFrom(long position, int length) {
    int from = (int) (position - start);
    ByteBuffer kept = window.slice(from, filled - from);
    if (window.capacity() < length) {
      window = room(Math.ceilDiv(length, READ) * READ + READ);
    }
    filled = kept.remaining();
    window.clear().put(kept);
    start = position;
  }

  private void fill(int wanted) throws IOException {
    while (filled < wanted && !ended) {
      ByteBuffer room = window.clear().position(filled);
      int n =
          file == null
              ? Objects.requireNonNull(stream).read(room)
              : file.read(room, start + filled);
      ended = n < 0;
      filled += Math.max(0, n);
    }
  }
}
