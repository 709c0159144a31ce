package dev.platter.image.fill;

import dev.platter.image.ByteSource;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;

/**
 * Puts what is in a file where it belongs while the file comes. Closing it closes what it writes
 * to.
 */
public interface Fill extends Closeable {
  /**
   * Everything is on the disk when this returns.
   *
   * @param length how many bytes come, -1 if that is not known
   */
  Filled from(InputStream in, long length) throws IOException;

  /** The same for a file that can be read at any position. */
  Filled from(ByteSource bytes) throws IOException;
}
