package dev.platter.block.scsi;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** REPORT SUPPORTED OPERATION CODES. */
final class SupportedOperations {
  private static final int TIMEOUTS = 12;
  private static final int SUPPORTED = 3;
  private static final int NOT_SUPPORTED = 1;

  private SupportedOperations() {}

  static byte[] answer(Cdb cdb) throws ScsiException {
    boolean timeouts = cdb.bit(2, 0x80);
    int opcode = cdb.u8(3);
    int action = cdb.u16(4);
    byte[] data =
        switch (cdb.u8(2) & 7) {
          case 0 -> all(timeouts);
          case 1 -> one(opcode, 0, timeouts, !Operation.hasServiceActions(opcode));
          case 2 -> one(opcode, action, timeouts, Operation.hasServiceActions(opcode));
          case 3 ->
              one(opcode, action, timeouts, Operation.hasServiceActions(opcode) || action == 0);
          default -> throw ScsiException.check(Sense.INVALID_FIELD);
        };
    return Inquiry.cut(data, cdb.u32(6));
  }

  private static byte[] all(boolean timeouts) {
    Operation[] operations = Operation.values();
    int each = timeouts ? 8 + TIMEOUTS : 8;
    ByteBuffer out = ByteBuffer.allocate(4 + each * operations.length);
    out.putInt(each * operations.length);
    for (Operation operation : operations) {
      out.put((byte) operation.opcode()).put((byte) 0);
      out.putShort((short) operation.serviceAction()).put((byte) 0);
      out.put((byte) ((timeouts ? 2 : 0) | (operation.hasServiceAction() ? 1 : 0)));
      out.putShort((short) operation.usage().length);
      if (timeouts) {
        out.putShort((short) (TIMEOUTS - 2)).put(new byte[TIMEOUTS - 2]);
      }
    }
    return out.array();
  }

  private static byte[] one(int opcode, int action, boolean timeouts, boolean asked)
      throws ScsiException {
    if (Operation.exists(opcode) && !asked) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    Operation operation = Operation.find(opcode, action);
    if (operation == null) {
      return new byte[] {0, NOT_SUPPORTED, 0, 0};
    }
    byte[] usage = operation.usage();
    ByteBuffer out = ByteBuffer.allocate(4 + usage.length + TIMEOUTS);
    out.put((byte) 0).put((byte) (SUPPORTED | (timeouts ? 0x80 : 0)));
    out.putShort((short) usage.length).put(usage);
    if (timeouts) {
      out.putShort((short) (TIMEOUTS - 2)).put(new byte[TIMEOUTS - 2]);
    }
    return Arrays.copyOf(out.array(), out.position());
  }
}
