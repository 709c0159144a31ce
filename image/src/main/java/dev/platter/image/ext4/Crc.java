package dev.platter.image.ext4;

import java.util.zip.CRC32C;

/**
 * The two checksums of ext4. Both go on from a value given and are not inverted at the end, unlike
 * those of the JDK.
 */
final class Crc {
  private Crc() {}

  /**
   * CRC-32C, by the JDK's, which always starts from all ones: a value to go on from is the same as
   * other first bytes. What has fewer than these four bytes goes bit by bit.
   */
  static int crc32c(int from, byte[] bytes, int offset, int length) {
    if (length < 4) {
      return reflected(0x82F63B78, from, bytes, offset, length);
    }
    var crc = new CRC32C();
    for (int i = 0; i < 4; i++) {
      crc.update((bytes[offset + i] ^ (~from >>> (8 * i))) & 0xFF);
    }
    crc.update(bytes, offset + 4, length - 4);
    return ~(int) crc.getValue();
  }

  static int crc32c(int from, byte[] bytes) {
    return crc32c(from, bytes, 0, bytes.length);
  }

  static int crc32c(int from, int value) {
    return crc32c(from, littleEndian(value));
  }

  /** CRC-16 of the polynomial 0x8005. */
  static int crc16(int from, byte[] bytes, int offset, int length) {
    return reflected(0xA001, from, bytes, offset, length);
  }

  private static int reflected(int polynomial, int from, byte[] bytes, int offset, int length) {
    int crc = from;
    for (int i = offset; i < offset + length; i++) {
      crc ^= bytes[i] & 0xFF;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc & 1) != 0 ? (crc >>> 1) ^ polynomial : crc >>> 1;
      }
    }
    return crc;
  }

  static byte[] littleEndian(int value) {
    return new byte[] {
      (byte) value, (byte) (value >>> 8), (byte) (value >>> 16), (byte) (value >>> 24)
    };
  }
}
