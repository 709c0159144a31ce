package dev.platter.block.scsi;

import dev.platter.block.scsi.Reservations.Held;
import dev.platter.block.scsi.Reservations.State;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** PERSISTENT RESERVE IN and OUT as they are on the wire. */
final class PersistentReserve {
  static final int PARAMETERS = 24;
  private static final int SPECIFIED_PORTS = 0x08;
  private static final int THROUGH_POWER_LOSS = 0x01;

  /** All six types can be used, and nothing more. */
  private static final byte[] CAPABILITIES = {0, 8, 0, (byte) 0x80, (byte) 0xea, 0x01, 0, 0};

  private PersistentReserve() {}

  static byte[] in(Operation operation, Cdb cdb, State state) {
    byte[] data =
        switch (operation) {
          case READ_KEYS -> keys(state);
          case READ_RESERVATION -> reservation(state);
          case REPORT_CAPABILITIES -> CAPABILITIES.clone();
          case READ_FULL_STATUS -> fullStatus(state);
          default -> throw new AssertionError(operation);
        };
    return Inquiry.cut(data, cdb.u16(7));
  }

  private static byte[] keys(State state) {
    int length = 8 * state.keys().size();
    ByteBuffer out = ByteBuffer.allocate(8 + length).putInt(state.generation()).putInt(length);
    state.keys().values().forEach(out::putLong);
    return out.array();
  }

  private static byte[] reservation(State state) {
    Held held = state.held();
    if (held == null) {
      return ByteBuffer.allocate(8).putInt(state.generation()).array();
    }
    ByteBuffer out = ByteBuffer.allocate(24).putInt(state.generation()).putInt(16);
    out.putLong(held.key()).put(21, (byte) held.type().number);
    return out.array();
  }

  private static byte[] fullStatus(State state) {
    ByteBuffer out = ByteBuffer.allocate(8 + Reservations.MOST_REGISTRATIONS * 300);
    out.putInt(state.generation()).putInt(0);
    Held held = state.held();
    for (Map.Entry<Nexus, Long> entry : state.keys().entrySet()) {
      boolean holder = held != null && state.isHolder(entry.getKey());
      byte[] port = entry.getKey().transportId();
      out.putLong(entry.getValue()).putInt(0);
      out.put((byte) (holder ? 1 : 0));
      out.put((byte) (holder && held != null ? held.type().number : 0));
      out.putInt(0).putShort((short) 1).putInt(port.length).put(port);
    }
    out.putInt(4, out.position() - 8);
    return Arrays.copyOf(out.array(), out.position());
  }

  /**
   * Carries out what was asked for, under the unit's exclusive lock.
   *
   * @return whose commands have to be aborted
   */
  static List<Nexus> out(
      Operation operation, Cdb cdb, ByteBuffer parameters, Reservations of, Nexus nexus)
      throws ScsiException {
    long key = parameters.getLong(0);
    long actionKey = parameters.getLong(8);
    int flags = parameters.get(20);
    if ((flags & (SPECIFIED_PORTS | THROUGH_POWER_LOSS)) != 0) {
      throw ScsiException.check(Sense.INVALID_PARAMETER);
    }
    switch (operation) {
      case REGISTER -> of.register(nexus, key, actionKey);
      case REGISTER_ANYWAY -> of.register(nexus, null, actionKey);
      case RESERVE -> of.reserve(nexus, key, type(cdb));
      case RELEASE -> of.release(nexus, key, type(cdb));
      case CLEAR -> of.clear(nexus, key);
      case PREEMPT -> of.preempt(nexus, key, actionKey, type(cdb));
      case PREEMPT_AND_ABORT -> {
        return of.preempt(nexus, key, actionKey, type(cdb));
      }
      default -> throw new AssertionError(operation);
    }
    return List.of();
  }

  /** The scope can only be the whole unit. */
  private static Reservations.Type type(Cdb cdb) throws ScsiException {
    if (cdb.u8(2) >> 4 != 0) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return Reservations.Type.of(cdb.u8(2) & 0x0f);
  }
}
