package dev.platter.block.iscsi;

/** Numbers of RFC 7143. */
final class Protocol {
  static final int HEADER = 48;
  static final int DIGEST = 4;
  static final int NO_TAG = 0xffffffff;

  static final int NOP_OUT = 0x00;
  static final int SCSI_COMMAND = 0x01;
  static final int TASK_MANAGEMENT = 0x02;
  static final int LOGIN = 0x03;
  static final int TEXT = 0x04;
  static final int DATA_OUT = 0x05;
  static final int LOGOUT = 0x06;

  static final int NOP_IN = 0x20;
  static final int SCSI_RESPONSE = 0x21;
  static final int TASK_MANAGEMENT_RESPONSE = 0x22;
  static final int LOGIN_RESPONSE = 0x23;
  static final int TEXT_RESPONSE = 0x24;
  static final int DATA_IN = 0x25;
  static final int LOGOUT_RESPONSE = 0x26;
  static final int READY_TO_TRANSFER = 0x31;
  static final int REJECT = 0x3f;

  static final int IMMEDIATE = 0x40;

  /** Flags of many PDUs: the last of its kind, and text that goes on in the next. */
  static final int FINAL = 0x80;

  static final int CONTINUE = 0x40;

  static final int READ = 0x40;
  static final int WRITE = 0x20;
  static final int OVERFLOW = 0x04;
  static final int UNDERFLOW = 0x02;
  static final int STATUS = 0x01;

  static final int REJECT_DATA_DIGEST = 0x02;
  static final int REJECT_PROTOCOL_ERROR = 0x04;
  static final int REJECT_NOT_SUPPORTED = 0x05;

  /** What one PDU may bring us: what we declare as MaxRecvDataSegmentLength. */
  static final int MOST_DATA = 1 << 18;

  private Protocol() {}

  static int padded(int length) {
    return (length + 3) & ~3;
  }
}
