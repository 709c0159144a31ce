package dev.platter.node.move;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdException;
import java.io.IOException;

/**
 * Makes chunks smaller where that pays. Data that a look at a small part of it shows to be random,
 * or packed already, is left as it is.
 */
final class Packing {
  private static final int LEVEL = 1;
  private static final int SAMPLE = 1 << 15;

  /** What it has to save, one part in so many, to be worth the work at the other end. */
  private static final int WORTH = 8;

  private Packing() {}

  static byte[] room() {
    return new byte[(int) Zstd.compressBound(Contents.CHUNK)];
  }

  /** How long it became in {@code packed}; -1 if it is to be sent as it is. */
  static int pack(byte[] plain, int length, byte[] packed) {
    if (length > 2 * SAMPLE && !pays(plain, length / 2, SAMPLE, packed)) {
      return -1;
    }
    var size = compress(plain, 0, length, packed);
    return isWorth(size, length) ? (int) size : -1;
  }

  private static boolean pays(byte[] plain, int from, int length, byte[] packed) {
    return isWorth(compress(plain, from, length, packed), length);
  }

  private static boolean isWorth(long packed, int plain) {
    return packed > 0 && packed < plain - plain / WORTH;
  }

  private static long compress(byte[] plain, int from, int length, byte[] packed) {
    return Zstd.compressByteArray(packed, 0, packed.length, plain, from, length, LEVEL);
  }

  static void unpack(byte[] packed, int packedLength, byte[] plain, int length) throws IOException {
    try {
      var n = Zstd.decompressByteArray(plain, 0, length, packed, 0, packedLength);
      if (n == length) {
        return;
      }
      throw new IOException("a chunk of %d bytes where %d belong".formatted(n, length));
    } catch (ZstdException e) {
      throw new IOException("a chunk that cannot be unpacked: " + e.getMessage(), e);
    }
  }
}
