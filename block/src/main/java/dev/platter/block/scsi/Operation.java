package dev.platter.block.scsi;

import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Every command there is: which bits of its CDB are used (the first byte is the operation code, and
 * a service action stands for itself), and whom reservations keep from it.
 */
enum Operation {
  TEST_UNIT_READY("000000000000", Access.STATUS),
  REQUEST_SENSE("03010000ff00", Access.FREE),
  READ_6("081fffffff00", Access.READ),
  WRITE_6("0a1fffffff00", Access.WRITE),
  INQUIRY("1201ffffff00", Access.FREE),
  RESERVE_6("160000000000", Access.FREE),
  RELEASE_6("170000000000", Access.FREE),
  MODE_SENSE_6("1a08ffffff00", Access.READ),
  START_STOP_UNIT("1b0100fff700", Access.CONTROL),
  READ_CAPACITY_10("25000000000000000000", Access.STATUS),
  READ_10("28f8ffffffff00ffff00", Access.READ),
  WRITE_10("2af8ffffffff00ffff00", Access.WRITE),
  WRITE_AND_VERIFY_10("2ef6ffffffff00ffff00", Access.WRITE),
  VERIFY_10("2ff6ffffffff00ffff00", Access.READ),
  PRE_FETCH_10("3402ffffffff00ffff00", Access.READ),
  SYNCHRONIZE_CACHE_10("3502ffffffff00ffff00", Access.CONTROL),
  WRITE_SAME_10("41f8ffffffff00ffff00", Access.WRITE),
  UNMAP("42010000000000ffff00", Access.WRITE),
  RESERVE_10("56000000000000000000", Access.FREE),
  RELEASE_10("57000000000000000000", Access.FREE),
  MODE_SENSE_10("5a18ffff000000ffff00", Access.READ),
  READ_KEYS("5e000000000000ffff00", Action.SERVICE, Access.STATUS),
  READ_RESERVATION("5e010000000000ffff00", Action.SERVICE, Access.STATUS),
  REPORT_CAPABILITIES("5e020000000000ffff00", Action.SERVICE, Access.STATUS),
  READ_FULL_STATUS("5e030000000000ffff00", Action.SERVICE, Access.STATUS),
  REGISTER("5f00000000ffffffff00", Action.SERVICE, Access.STATUS),
  RESERVE("5f01ff0000ffffffff00", Action.SERVICE, Access.STATUS),
  RELEASE("5f02ff0000ffffffff00", Action.SERVICE, Access.STATUS),
  CLEAR("5f03000000ffffffff00", Action.SERVICE, Access.STATUS),
  PREEMPT("5f04ff0000ffffffff00", Action.SERVICE, Access.STATUS),
  PREEMPT_AND_ABORT("5f05ff0000ffffffff00", Action.SERVICE, Access.STATUS),
  REGISTER_ANYWAY("5f06000000ffffffff00", Action.SERVICE, Access.STATUS),
  READ_16("88f8ffffffffffffffffffffffff0000", Access.READ),
  COMPARE_AND_WRITE("89f8ffffffffffffffff000000ff0000", Access.WRITE),
  WRITE_16("8af8ffffffffffffffffffffffff0000", Access.WRITE),
  WRITE_AND_VERIFY_16("8ef6ffffffffffffffffffffffff0000", Access.WRITE),
  VERIFY_16("8ff6ffffffffffffffffffffffff0000", Access.READ),
  PRE_FETCH_16("9002ffffffffffffffffffffffff0000", Access.READ),
  SYNCHRONIZE_CACHE_16("9102ffffffffffffffffffffffff0000", Access.CONTROL),
  WRITE_SAME_16("93f9ffffffffffffffffffffffff0000", Access.WRITE),
  READ_CAPACITY_16("9e100000000000000000ffffffff0000", Action.SERVICE, Access.STATUS),
  GET_LBA_STATUS("9e12ffffffffffffffffffffffff0000", Action.SERVICE, Access.READ),
  REPORT_LUNS("a000ff000000ffffffff0000", Access.FREE),
  REPORT_SUPPORTED_OPCODES("a30c87ffffffffffffff0000", Action.SERVICE, Access.FREE),
  READ_12("a8f8ffffffffffffffff0000", Access.READ),
  WRITE_12("aaf8ffffffffffffffff0000", Access.WRITE),
  WRITE_AND_VERIFY_12("aef6ffffffffffffffff0000", Access.WRITE),
  VERIFY_12("aff6ffffffffffffffff0000", Access.READ);

  /** What a reservation of somebody else means for a command. */
  enum Access {
    /** Nothing. */
    FREE,
    /** Only RESERVE(6) and (10) keep others from it. */
    STATUS,
    READ,
    /** As WRITE, but the disk's bytes stay what they are. */
    CONTROL,
    WRITE
  }

  private enum Action {
    NONE,
    SERVICE
  }

  private static final Operation[] ALL = values();

  private final String usage;
  private final int opcode;
  private final int serviceAction;
  private final boolean service;
  final Access access;

  Operation(String usage, Access access) {
    this(usage, Action.NONE, access);
  }

  Operation(String usage, Action action, Access access) {
    this.usage = usage;
    this.service = action == Action.SERVICE;
    this.opcode = HexFormat.fromHexDigits(usage, 0, 2);
    this.serviceAction = service ? HexFormat.fromHexDigits(usage, 2, 4) & 0x1f : 0;
    this.access = access;
  }

  int opcode() {
    return opcode;
  }

  boolean hasServiceAction() {
    return service;
  }

  int serviceAction() {
    return serviceAction;
  }

  /** As long as the CDB. */
  byte[] usage() {
    return HexFormat.of().parseHex(usage);
  }

  private static final Operation[][] BY_OPCODE = new Operation[256][];

  static {
    for (int opcode = 0; opcode < 256; opcode++) {
      int wanted = opcode;
      BY_OPCODE[opcode] =
          Arrays.stream(ALL)
              .filter(operation -> operation.opcode() == wanted)
              .toArray(Operation[]::new);
    }
  }

  static Operation of(Cdb cdb) throws ScsiException {
    Operation[] candidates = BY_OPCODE[cdb.u8(0)];
    if (candidates.length == 0) {
      throw ScsiException.check(Sense.INVALID_OPCODE);
    }
    Operation found = among(candidates, cdb.u8(1) & 0x1f);
    if (found == null) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return found;
  }

  static @Nullable Operation find(int opcode, int serviceAction) {
    return among(BY_OPCODE[opcode], serviceAction);
  }

  static boolean exists(int opcode) {
    return BY_OPCODE[opcode].length > 0;
  }

  static boolean hasServiceActions(int opcode) {
    return BY_OPCODE[opcode].length > 0 && BY_OPCODE[opcode][0].service;
  }

  private static @Nullable Operation among(Operation[] candidates, int serviceAction) {
    for (Operation operation : candidates) {
      if (!operation.service || operation.serviceAction() == serviceAction) {
        return operation;
      }
    }
    return null;
  }
}
