package dev.platter.block.scsi;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * What a unit says of itself. Its identity follows from the names of its target and its number, so
 * that it is the same after a restart, on another node and over every portal.
 */
final class Inquiry {
  private static final int NO_UNIT = 0x7f;
  private static final int[] PAGES = {0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2};

  /** SAM-5, SPC-4, SBC-3, iSCSI. */
  private static final int[] VERSIONS = {0x00a0, 0x0460, 0x04c0, 0x0960};

  private static final String VENDOR = "PLATTER ";
  private static final String PRODUCT = "DISK            ";
  private static final String REVISION = "1   ";

  private final String target;
  private final byte[] identity;
  private final boolean readOnly;

  Inquiry(String target, int lun, boolean readOnly) {
    this.target = target;
    this.identity = Arrays.copyOf(sha256(target + "," + lun), 8);
    this.readOnly = readOnly;
  }

  byte[] answer(Cdb cdb) throws ScsiException {
    return cut(cdb.bit(1, 1) ? page(cdb.u8(2)) : standard(cdb, 0), cdb.u16(3));
  }

  /** For a number that no unit has. */
  static byte[] ofNothing(Cdb cdb) throws ScsiException {
    if (cdb.bit(1, 1)) {
      throw ScsiException.check(Sense.NO_SUCH_UNIT);
    }
    return cut(standard(cdb, NO_UNIT), cdb.u16(3));
  }

  private static byte[] standard(Cdb cdb, int type) throws ScsiException {
    if (cdb.u8(2) != 0) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    ByteBuffer out = ByteBuffer.allocate(96);
    out.put((byte) type).put((byte) 0).put((byte) 6).put((byte) 0x12);
    out.put((byte) (96 - 5)).put((byte) 0).put((byte) 0).put((byte) 0x02);
    out.put((VENDOR + PRODUCT + REVISION).getBytes(US_ASCII));
    out.position(58);
    for (int version : VERSIONS) {
      out.putShort((short) version);
    }
    return out.array();
  }

  private byte[] page(int code) throws ScsiException {
    ByteBuffer out = ByteBuffer.allocate(512).position(4);
    switch (code) {
      case 0x00 -> {
        for (int page : PAGES) {
          out.put((byte) page);
        }
      }
      case 0x80 -> out.put(serial());
      case 0x83 -> names(out);
      case 0xb0 -> limits(out);
      case 0xb1 -> out.put(new byte[60]).putShort(4, (short) 1); // does not rotate
      case 0xb2 -> {
        // What has no space reads as zeros; UNMAP and WRITE SAME give space back.
        out.put((byte) 0).put((byte) (readOnly ? 0x04 : 0xe4)).put((byte) 2).put((byte) 0);
      }
      default -> throw ScsiException.check(Sense.INVALID_FIELD);
    }
    out.put(1, (byte) code).putShort(2, (short) (out.position() - 4));
    return Arrays.copyOf(out.array(), out.position());
  }

  private byte[] serial() {
    return HexFormat.of().formatHex(identity).getBytes(US_ASCII);
  }

  private void names(ByteBuffer out) {
    byte[] vendor = concat(VENDOR.getBytes(US_ASCII), serial());
    out.put((byte) 2).put((byte) 1).put((byte) 0).put((byte) vendor.length).put(vendor);
    // NAA, assigned locally
    out.put((byte) 1).put((byte) 3).put((byte) 0).put((byte) 8);
    out.put((byte) (0x30 | (identity[0] & 0x0f))).put(identity, 1, 7);
    // The target's port: number and name
    out.put((byte) 0x51).put((byte) 0x94).put((byte) 0).put((byte) 4).putInt(1);
    byte[] port = (target + ",t,0x0001").getBytes(UTF_8);
    int padded = port.length / 4 * 4 + 4;
    out.put((byte) 0x53).put((byte) 0x98).put((byte) 0).put((byte) padded);
    out.put(Arrays.copyOf(port, padded));
  }

  private void limits(ByteBuffer out) {
    out.put((byte) 1); // WRITE SAME says how many blocks
    out.put((byte) (readOnly ? 0 : Limits.COMPARE_AND_WRITE));
    out.putShort((short) 8).putInt(Limits.TRANSFER).putInt(Limits.GOOD_TRANSFER).putInt(0);
    out.putInt(readOnly ? 0 : Limits.UNMAP).putInt(readOnly ? 0 : Limits.UNMAP_RANGES);
    out.putInt(8).putInt(0).putLong(readOnly ? 0 : Limits.WRITE_SAME);
    out.put(new byte[64 - out.position()]);
  }

  static byte[] cut(byte[] data, long most) {
    return most < data.length ? Arrays.copyOf(data, (int) most) : data;
  }

  private static byte[] concat(byte[] a, byte[] b) {
    byte[] both = Arrays.copyOf(a, a.length + b.length);
    System.arraycopy(b, 0, both, a.length, b.length);
    return both;
  }

  private static byte[] sha256(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
