package dev.platter.block.scsi;

import dev.platter.block.BlockDevice;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Several disks under one name. */
public final class TargetDevice {
  public static final int MOST_UNITS = 256;

  private final SortedMap<Integer, LogicalUnit> units = new TreeMap<>();

  /**
   * @param name what the identity of the disks follows from, so the name must stay
   * @param disks by their numbers, from 0 to 255; they stay their owner's
   */
  public TargetDevice(String name, Map<Integer, ? extends BlockDevice> disks) {
    disks.forEach(
        (lun, disk) -> {
          if (lun < 0 || lun >= MOST_UNITS) {
            throw new IllegalArgumentException("there is no LUN " + lun + ", only 0 to 255");
          }
          units.put(lun, new LogicalUnit(name, lun, disk));
        });
  }

  public Collection<LogicalUnit> units() {
    return units.values();
  }

  /**
   * The unit that an initiator means.
   *
   * @param address the eight bytes of a LUN
   */
  public @Nullable LogicalUnit unit(long address) {
    int method = (int) (address >>> 62);
    int number = (int) (address >>> 48) & 0x3fff;
    boolean known = method == 1 || (method == 0 && number < 256);
    boolean flat = (address & 0xffffffffffffL) == 0;
    return known && flat ? units.get(number) : null;
  }

  /**
   * What is left to do for a command.
   *
   * @param offered how many bytes the initiator is going to send
   */
  public Action begin(Nexus nexus, long lun, ByteBuffer bytes, long offered) throws ScsiException {
    Cdb cdb = new Cdb(bytes);
    if (cdb.u8(0) == Operation.REPORT_LUNS.opcode()) {
      return new Action.Answer(luns(cdb));
    }
    LogicalUnit unit = unit(lun);
    if (unit != null) {
      return unit.begin(nexus, cdb, offered);
    }
    if (cdb.u8(0) == Operation.INQUIRY.opcode()) {
      return new Action.Answer(Inquiry.ofNothing(cdb));
    }
    if (cdb.u8(0) == Operation.REQUEST_SENSE.opcode()) {
      return new Action.Answer(Inquiry.cut(Sense.NO_SUCH_UNIT.bytes(-1), cdb.u8(4)));
    }
    throw ScsiException.check(Sense.NO_SUCH_UNIT);
  }

  private byte[] luns(Cdb cdb) throws ScsiException {
    if (cdb.u32(6) < 16 || cdb.u8(2) > 2) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    boolean wellKnown = cdb.u8(2) == 1; // there are none
    int length = wellKnown ? 0 : 8 * units.size();
    ByteBuffer out = ByteBuffer.allocate(8 + length).putInt(length).putInt(0);
    if (!wellKnown) {
      units.keySet().forEach(lun -> out.putLong((long) lun << 48));
    }
    return Inquiry.cut(out.array(), cdb.u32(6));
  }

  /** A port has logged in. */
  public void join(Nexus nexus) {
    units.values().forEach(unit -> unit.join(nexus));
  }

  public void leave(Nexus nexus) {
    units.values().forEach(unit -> unit.leave(nexus));
  }
}
