package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;

import java.nio.ByteBuffer;

/**
 * A SCSI command as an initiator sent it.
 *
 * @param immediate whether it takes no place in the window
 * @param expected how many bytes the initiator expects to send or to get
 * @param more whether data follow without being asked for
 */
record Command(
    int tag,
    long lun,
    boolean immediate,
    boolean reads,
    boolean writes,
    boolean more,
    long expected,
    ByteBuffer cdb) {
  static Command of(ByteBuffer header) {
    int flags = header.get(1);
    ByteBuffer cdb = ByteBuffer.allocate(16).put(0, header, 32, 16);
    return new Command(
        header.getInt(16),
        header.getLong(8),
        (header.get(0) & IMMEDIATE) != 0,
        (flags & READ) != 0,
        (flags & WRITE) != 0,
        (flags & FINAL) == 0,
        header.getInt(20) & 0xffffffffL,
        cdb);
  }

  long readable() {
    return reads ? expected : 0;
  }

  long writable() {
    return writes ? expected : 0;
  }
}
