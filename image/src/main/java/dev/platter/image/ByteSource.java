package dev.platter.image;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Bytes that can be read at any position, by several threads at once. A format reader asks for no
 * more than this, so that it works alike on a file, on memory and on a layer that is fetched by
 * ranges.
 */
public interface ByteSource {
  /** The number of bytes. It does not change while the source is in use. */
  long size() throws IOException;

  /** Reads up to {@code into.remaining()} bytes; -1 at or past the end. */
  int read(ByteBuffer into, long position) throws IOException;

  /** Fills {@code into}, or fails with {@link EOFException}. */
  default void readFully(ByteBuffer into, long position) throws IOException {
    int wanted = into.remaining();
    if (!readAvailable(into, position)) {
      throw new EOFException(
          "wanted " + wanted + " bytes at " + position + ", " + into.remaining() + " are missing");
    }
  }

  /** Reads until {@code into} is full (true) or the bytes end (false). */
  default boolean readAvailable(ByteBuffer into, long position) throws IOException {
    long at = position;
    while (into.hasRemaining()) {
      int n = read(into, at);
      if (n < 0) {
        return false;
      }
      at += n;
    }
    return true;
  }

  /** The bytes of a file. The channel stays the caller's. */
  static ByteSource of(FileChannel channel) {
    return new ByteSource() {
      @Override
      public long size() throws IOException {
        return channel.size();
      }

      @Override
      public int read(ByteBuffer into, long position) throws IOException {
        return channel.read(into, position);
      }
    };
  }

  /** The bytes of an array, which must not change. */
  static ByteSource of(byte[] bytes) {
    return new ByteSource() {
      @Override
      public long size() {
        return bytes.length;
      }

      @Override
      public int read(ByteBuffer into, long position) {
        if (position >= bytes.length) {
          return -1;
        }
        int n = Math.min(into.remaining(), bytes.length - (int) position);
        into.put(bytes, (int) position, n);
        return n;
      }
    };
  }
}
