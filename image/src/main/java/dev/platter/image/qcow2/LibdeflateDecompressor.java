package dev.platter.image.qcow2;

import dev.platter.image.Libdeflate;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * Raw deflate by libdeflate. What it does not take (a stream that has no end, or would go on) is
 * left to zlib, which knows how to stop in the middle.
 */
final class LibdeflateDecompressor implements Decompressor {
  private final Libdeflate library = new Libdeflate();
  private final ZlibDecompressor zlib = new ZlibDecompressor();

  @Override
  public boolean fill(ByteBuffer in, ByteBuffer out) {
    if (library.inflate(MemorySegment.ofBuffer(in), MemorySegment.ofBuffer(out))) {
      out.position(out.limit());
      return true;
    }
    return zlib.fill(in, out);
  }

  @Override
  public void close() {
    library.close();
    zlib.close();
  }
}
