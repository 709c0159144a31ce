package dev.platter.node.x509;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** As much of DER as a certificate needs. */
final class Der {
  private static final int SHORT_LENGTH = 0x80;

  private Der() {}

  static byte[] sequence(byte[]... parts) {
    return tagged(0x30, parts);
  }

  static byte[] set(byte[]... parts) {
    return tagged(0x31, parts);
  }

  static byte[] integer(BigInteger value) {
    return tagged(0x02, value.toByteArray());
  }

  static byte[] yes() {
    return tagged(0x01, new byte[] {(byte) 0xff});
  }

  /** An object identifier, given by its encoded content. */
  static byte[] oid(String hex) {
    return tagged(0x06, HexFormat.of().parseHex(hex));
  }

  static byte[] text(String text) {
    return tagged(0x0c, text.getBytes(StandardCharsets.UTF_8));
  }

  static byte[] utcTime(String time) {
    return tagged(0x17, time.getBytes(StandardCharsets.US_ASCII));
  }

  static byte[] generalizedTime(String time) {
    return tagged(0x18, time.getBytes(StandardCharsets.US_ASCII));
  }

  static byte[] octets(byte[] content) {
    return tagged(0x04, content);
  }

  /** A bit string whose last {@code unused} bits count for nothing. */
  static byte[] bits(int unused, byte[] content) {
    return tagged(0x03, new byte[] {(byte) unused}, content);
  }

  static byte[] tagged(int tag, byte[]... parts) {
    var content = new ByteArrayOutputStream();
    for (var part : parts) {
      content.writeBytes(part);
    }
    var out = new ByteArrayOutputStream();
    out.write(tag);
    var length = content.size();
    if (length < SHORT_LENGTH) {
      out.write(length);
    } else {
      var bytes = (39 - Integer.numberOfLeadingZeros(length)) / 8;
      out.write(SHORT_LENGTH | bytes);
      for (var shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
        out.write(length >>> shift);
      }
    }
    out.writeBytes(content.toByteArray());
    return out.toByteArray();
  }
}
