package dev.platter.block;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.List;

/**
 * A disk: a fixed number of bytes that can be read and perhaps written.
 *
 * <p>Ranges lie within the device and writes go to writable devices only: callers see to that, at
 * the edge where requests come in. Any number of threads may call at the same time; requests for
 * the same bytes at the same time may be done in any order. Threads that call must not be
 * interrupted: the JDK would close the file under everybody.
 *
 * <p>A device may hold only a part of its bytes and fetch others when they are asked for. {@link
 * #ready} tells the two apart, so that callers can keep what is slow from what is not.
 */
public interface BlockDevice extends AutoCloseable {
  /** How many runs {@link #extents} returns at most. */
  int MOST_EXTENTS = 1024;

  long size();

  boolean readOnly();

  /** Fills what remains of the buffer. */
  void read(long offset, ByteBuffer into) throws IOException;

  /** Writes what remains of the buffer. Durable after {@link #flush}. */
  void write(long offset, ByteBuffer from) throws IOException;

  /**
   * Makes a range read as zeros.
   *
   * @param mayTrim whether the space may be given back, so that a later write could find none
   */
  void zero(long offset, long length, boolean mayTrim) throws IOException;

  /** Says that nobody needs the bytes any more. What they read as afterwards is open. */
  void trim(long offset, long length) throws IOException;

  /** Makes every write durable that returned before, whichever thread made it. */
  void flush() throws IOException;

  /**
   * What a range is made of, from its start, without gaps. May stop before the end of the range,
   * but returns at least one run.
   */
  default List<Extent> extents(long offset, long length) throws IOException {
    return List.of(new Extent(length, Extent.Kind.DATA));
  }

  /** Whether a read of the range has to wait for nothing but this machine's own storage. */
  default boolean ready(long offset, long length) {
    return true;
  }

  /**
   * Fills what remains of the buffer, which is not on the heap, if that needs no waiting. Devices
   * that cannot tell may wait for this machine's own storage.
   *
   * @return false if it does, or will fail; the buffer is then as it was
   */
  default boolean readNow(long offset, ByteBuffer into) throws IOException {
    if (!ready(offset, into.remaining())) {
      return false;
    }
    read(offset, into);
    return true;
  }

  /** Makes a range ready, however long that takes. */
  default void fetch(long offset, long length) throws IOException {}

  /**
   * Sends bytes without copying them through this process, where the device can. When it throws,
   * nothing was sent.
   *
   * @return how many were sent, up to {@code length}; 0 if the rest has to be read
   */
  default long transferTo(long offset, long length, SocketChannel target) throws IOException {
    return 0;
  }

  @Override
  void close() throws IOException;
}
