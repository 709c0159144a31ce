package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * The last 51 bytes of an eStargz: an empty gzip member whose extra field says where the table of
 * contents starts. All but the offset, and the parts of the gzip header that gzip ignores, is
 * fixed.
 */
final class Footer {
  private static final int FLAG_EXTRA = 4;
  private static final int EXTRA = 10;
  private static final int OFFSET = 16;
  private static final int OFFSET_DIGITS = 16;
  private static final byte[] MAGIC = "STARGZ".getBytes(StandardCharsets.US_ASCII);
  private static final int DEFLATED = OFFSET + OFFSET_DIGITS + 6;

  /** A last, stored, empty block; then CRC and length, both zero. */
  private static final byte[] EMPTY = {1, 0, 0, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

  private Footer() {}

  static byte[] of(long tocOffset) {
    return ByteBuffer.allocate(Estargz.FOOTER_SIZE)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(GzipMember.header(FLAG_EXTRA))
        .putShort((short) (4 + OFFSET_DIGITS + MAGIC.length))
        .put((byte) 'S')
        .put((byte) 'G')
        .putShort((short) (OFFSET_DIGITS + MAGIC.length))
        .put(HexFormat.of().toHexDigits(tocOffset).getBytes(StandardCharsets.US_ASCII))
        .put(MAGIC)
        .put(EMPTY)
        .array();
  }

  /** The offset that the footer states, whether or not it makes sense. */
  static long parse(byte[] footer) throws IOException {
    if (footer.length != Estargz.FOOTER_SIZE) {
      throw refused("it has " + footer.length + " bytes, not " + Estargz.FOOTER_SIZE);
    }
    ByteBuffer expected = ByteBuffer.wrap(of(0));
    ByteBuffer found = ByteBuffer.wrap(footer);
    if (differ(found, expected, 0, 4)
        || differ(found, expected, EXTRA, OFFSET)
        || differ(found, expected, OFFSET + OFFSET_DIGITS, DEFLATED + EMPTY.length)) {
      throw refused("it is not that of an eStargz");
    }
    String digits = new String(footer, OFFSET, OFFSET_DIGITS, StandardCharsets.US_ASCII);
    try {
      return HexFormat.fromHexDigitsToLong(digits);
    } catch (NumberFormatException e) {
      throw refused("its offset is no hexadecimal number");
    }
  }

  private static boolean differ(ByteBuffer a, ByteBuffer b, int from, int to) {
    return !a.slice(from, to - from).equals(b.slice(from, to - from));
  }

  private static BadImageException refused(String why) {
    return new BadImageException("the layer's footer is refused: " + why);
  }
}
