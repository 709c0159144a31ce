package dev.platter.image;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Is given the disk file of a layer that is read once, front to back, while its digests are not
 * known to be right yet.
 */
public interface DiskSink {
  /**
   * The disk file begins.
   *
   * @param name of the file, with {@code disk/}
   * @param size of the file, which is not that of the disk in it
   */
  void begin(String name, long size) throws IOException;

  /** The next bytes of it; the buffer is used up. */
  void bytes(ByteBuffer bytes) throws IOException;
}
