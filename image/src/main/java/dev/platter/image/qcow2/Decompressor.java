package dev.platter.image.qcow2;

import java.nio.ByteBuffer;

/**
 * Unpacks one compressed cluster at a time; reused, never shared between threads. Both buffers are
 * direct.
 */
sealed interface Decompressor extends AutoCloseable
    permits ZlibDecompressor, LibdeflateDecompressor, ZstdDecompressor {
  /**
   * Fills {@code out} from the start of {@code in}. What follows the stream is ignored: an entry
   * gives its length in sectors only, so the next cluster's bytes may come after it.
   *
   * @return false if the stream is damaged or ends before {@code out} is full
   */
  boolean fill(ByteBuffer in, ByteBuffer out);

  @Override
  void close();
}
