package dev.platter.image.seekable;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * Makes one gzip member whose bytes depend on nothing but its content: no time, no name, no
 * operating system, one level. They do depend on the zlib that the Java runtime was built with.
 */
final class GzipMember {
  private static final int LEVEL = 6;
  private static final int TRAILER = 8;

  private GzipMember() {}

  static byte[] of(byte[] plain) {
    var out = new ByteArrayOutputStream(plain.length / 2 + 64);
    out.writeBytes(header(0));
    Deflater deflater = new Deflater(LEVEL, true);
    try {
      deflater.setInput(plain);
      deflater.finish();
      byte[] piece = new byte[32 << 10];
      while (!deflater.finished()) {
        out.write(piece, 0, deflater.deflate(piece));
      }
    } finally {
      deflater.end();
    }
    var crc = new CRC32();
    crc.update(plain);
    out.writeBytes(
        ByteBuffer.allocate(TRAILER)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt((int) crc.getValue())
            .putInt(plain.length)
            .array());
    return out.toByteArray();
  }

  static byte[] header(int flags) {
    return new byte[] {0x1f, (byte) 0x8b, 8, (byte) flags, 0, 0, 0, 0, 0, (byte) 0xff};
  }
}
