package dev.platter.block.scsi;

import java.nio.ByteBuffer;

/** Why a command failed, in SCSI's words: a key and a code. */
public enum Sense {
  NONE(0x0, 0x0000),
  READ_ERROR(0x3, 0x1100),
  WRITE_ERROR(0x3, 0x0c00),
  INVALID_INFORMATION_UNIT(0x5, 0x0e03),
  PARAMETER_LIST_LENGTH(0x5, 0x1a00),
  INVALID_OPCODE(0x5, 0x2000),
  OUT_OF_RANGE(0x5, 0x2100),
  INVALID_FIELD(0x5, 0x2400),
  NO_SUCH_UNIT(0x5, 0x2500),
  INVALID_PARAMETER(0x5, 0x2600),
  INVALID_RELEASE(0x5, 0x2604),
  NOTHING_SAVED(0x5, 0x3900),
  TOO_MANY_REGISTRATIONS(0x5, 0x5504),
  RESET(0x6, 0x2903),
  RESERVATIONS_PREEMPTED(0x6, 0x2a03),
  RESERVATIONS_RELEASED(0x6, 0x2a04),
  REGISTRATIONS_PREEMPTED(0x6, 0x2a05),
  WRITE_PROTECTED(0x7, 0x2700),
  NO_SPACE(0x7, 0x2707),
  DATA_LOST(0xb, 0x4705),
  MISCOMPARE(0xe, 0x1d00);

  public static final int BYTES = 18;

  private final int key;
  private final int code;

  Sense(int key, int code) {
    this.key = key;
    this.code = code;
  }

  /**
   * In fixed format.
   *
   * @param information negative if there is none
   */
  byte[] bytes(long information) {
    boolean valid = information >= 0 && information <= 0xffffffffL;
    ByteBuffer out = ByteBuffer.allocate(BYTES);
    out.put(0, (byte) (valid ? 0xf0 : 0x70));
    out.put(2, (byte) key);
    if (valid) {
      out.putInt(3, (int) information);
    }
    out.put(7, (byte) (BYTES - 8));
    out.putShort(12, (short) code);
    return out.array();
  }
}
