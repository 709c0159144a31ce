package dev.platter.image.gzip;

import java.io.IOException;

/** Plain bytes from a checkpoint on, in order. */
interface PlainReader extends AutoCloseable {
  /** At least one byte, or -1 if the packed bytes are used up. */
  int read(byte[] into, int from, int length) throws IOException;

  @Override
  void close();
}
