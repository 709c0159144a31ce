package dev.platter.block.scsi;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** How the unit behaves; nothing of it can be changed. */
final class ModePages {
  private static final int WRITE_PROTECTED = 0x80;
  private static final int DPO_AND_FUA = 0x10;
  private static final int CHANGEABLE = 1;
  private static final int SAVED = 3;
  private static final int ALL = 0x3f;

  private static final byte[] ERROR_RECOVERY = page(0x01, 10);

  /** A write cache that SYNCHRONIZE CACHE empties. */
  private static final byte[] CACHING = page(0x08, 18, 0x04);

  /** Commands in any order. */
  private static final byte[] CONTROL = page(0x0a, 10, 0x00, 0x10);

  private static final byte[] EXCEPTIONS = page(0x1c, 10);

  private final boolean readOnly;

  ModePages(boolean readOnly) {
    this.readOnly = readOnly;
  }

  private static byte[] page(int code, int length, int... values) {
    byte[] page = new byte[2 + length];
    page[0] = (byte) code;
    page[1] = (byte) length;
    for (int i = 0; i < values.length; i++) {
      page[2 + i] = (byte) values[i];
    }
    return page;
  }

  byte[] sense6(Cdb cdb) throws ScsiException {
    byte[] pages = pages(cdb);
    ByteBuffer out = ByteBuffer.allocate(4 + pages.length);
    out.put((byte) (3 + pages.length)).put((byte) 0).put(specific()).put((byte) 0).put(pages);
    return Inquiry.cut(out.array(), cdb.u8(4));
  }

  byte[] sense10(Cdb cdb) throws ScsiException {
    byte[] pages = pages(cdb);
    ByteBuffer out = ByteBuffer.allocate(8 + pages.length);
    out.putShort((short) (6 + pages.length)).put((byte) 0).put(specific()).putInt(0).put(pages);
    return Inquiry.cut(out.array(), cdb.u16(7));
  }

  private byte specific() {
    return (byte) (DPO_AND_FUA | (readOnly ? WRITE_PROTECTED : 0));
  }

  private static byte[] pages(Cdb cdb) throws ScsiException {
    int control = cdb.u8(2) >> 6;
    int code = cdb.u8(2) & 0x3f;
    int subpage = cdb.u8(3);
    if (control == SAVED) {
      throw ScsiException.check(Sense.NOTHING_SAVED);
    }
    if (subpage != 0 && subpage != 0xff) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    ByteBuffer out = ByteBuffer.allocate(128);
    for (byte[] page : new byte[][] {ERROR_RECOVERY, CACHING, CONTROL, EXCEPTIONS}) {
      if (code == ALL || code == page[0]) {
        out.put(control == CHANGEABLE ? page(page[0], page[1]) : page);
      }
    }
    if (out.position() == 0) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return Arrays.copyOf(out.array(), out.position());
  }
}
