package dev.platter.image.gzip;

import java.util.Arrays;

/**
 * Deflate blocks that contain nothing, so that the bits after them start where one wants them in a
 * byte. zlib can start at any bit (inflatePrime), but the JDK does not pass that on; what it does
 * accept is a stream, and a stream may start with empty blocks.
 *
 * <p>The static empty block has 10 bits. For an odd offset there is one dynamic block of 93: HLIT,
 * HDIST 0; code lengths for symbols 18 and 0 of two bits, for 1 of one bit; 256 literals of length
 * 0, the end of the block of length 1, one distance of length 0.
 */
final class EmptyBlocks {
  private static final int MAX_BYTES = (93 + 3 * 10 + 7) / 8;

  private final byte[] bytes = new byte[MAX_BYTES];
  private int bits;

  private EmptyBlocks() {}

  /** As many blocks as it takes to end at bit {@code offset}; the rest of the last byte is 0. */
  static byte[] endingAt(int offset) {
    EmptyBlocks blocks = new EmptyBlocks();
    if (offset % 2 != 0) {
      blocks.putDynamic();
    }
    while (blocks.bits % 8 != offset) {
      blocks.put(1 << 1, 10); // type 1, then the end of block, which is seven zeros
    }
    return Arrays.copyOf(blocks.bytes, (blocks.bits + 7) / 8);
  }

  private void putDynamic() {
    put(2 << 1, 3);
    put(0, 5);
    put(0, 5);
    put(14, 4); // 18 code lengths, in the order 16, 17, 18, 0, 8 ... 14, 1
    for (int i = 0; i < 18; i++) {
      boolean two = i == 2 || i == 3;
      put(two ? 2 : i == 17 ? 1 : 0, 3);
    }
    // Codes, first bit lowest: symbol 1 is 0, symbol 0 is 01, symbol 18 is 11.
    put(0b11, 2);
    put(138 - 11, 7);
    put(0b11, 2);
    put(118 - 11, 7);
    put(0, 1);
    put(0b01, 2);
    put(0, 1); // end of block
  }

  private void put(int value, int n) {
    for (int i = 0; i < n; i++, bits++) {
      bytes[bits / 8] |= (byte) ((value >> i & 1) << bits % 8);
    }
  }
}
