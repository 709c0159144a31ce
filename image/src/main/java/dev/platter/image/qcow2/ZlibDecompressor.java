package dev.platter.image.qcow2;

import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Raw deflate. Like QEMU it asks only that the cluster gets full: a stream that would go on is cut,
 * as old writers did not always finish theirs.
 */
final class ZlibDecompressor implements Decompressor {
  private final Inflater inflater = new Inflater(true);

  @Override
  public boolean fill(ByteBuffer in, ByteBuffer out) {
    inflater.reset();
    inflater.setInput(in);
    try {
      while (out.hasRemaining()) {
        if (inflater.inflate(out) == 0) {
          return false;
        }
      }
      return true;
    } catch (DataFormatException e) {
      return false;
    }
  }

  @Override
  public void close() {
    inflater.end();
  }
}
