package dev.platter.block.scsi;

import static dev.platter.block.scsi.Limits.BLOCK;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** One command of one port: checked here, so that what carries it out checks nothing again. */
final class Commands {
  private static final Action DONE = new Action.Answer(new byte[0]);
  private static final int PROTECTION = 0xe0;
  private static final int FORCE_UNIT_ACCESS = 0x08;
  private static final int UNMAP = 0x08;
  private static final int ANCHOR = 0x10;
  private static final int NO_DATA = 0x01;
  private static final int MOST_LBA_STATUS = 64;

  private final LogicalUnit unit;
  private final BlockDevice device;
  private final Nexus nexus;
  private final Cdb cdb;
  private final long offered;

  Commands(LogicalUnit unit, Nexus nexus, Cdb cdb, long offered) {
    this.unit = unit;
    this.device = unit.device;
    this.nexus = nexus;
    this.cdb = cdb;
    this.offered = offered;
  }

  Action action(Operation operation) throws ScsiException {
    return switch (operation) {
      case TEST_UNIT_READY -> DONE;
      case REQUEST_SENSE -> answer(unit.attention(nexus).bytes(-1), cdb.u8(4));
      case INQUIRY -> new Action.Answer(unit.inquiry.answer(cdb));
      case MODE_SENSE_6 -> new Action.Answer(unit.modes.sense6(cdb));
      case MODE_SENSE_10 -> new Action.Answer(unit.modes.sense10(cdb));
      case REPORT_SUPPORTED_OPCODES -> new Action.Answer(SupportedOperations.answer(cdb));
      case START_STOP_UNIT -> startStop();
      case READ_CAPACITY_10 -> answer(capacity10(), Long.MAX_VALUE);
      case READ_CAPACITY_16 -> answer(capacity16(), cdb.u32(10));
      case GET_LBA_STATUS -> answer(lbaStatus(), cdb.u32(10));
      case READ_6, READ_10, READ_12, READ_16 -> read();
      case WRITE_6 -> write(false);
      case WRITE_10, WRITE_12, WRITE_16 -> write(fua());
      case WRITE_AND_VERIFY_10, WRITE_AND_VERIFY_12, WRITE_AND_VERIFY_16 -> writeAndVerify();
      case VERIFY_10, VERIFY_12, VERIFY_16 -> verify();
      case PRE_FETCH_10, PRE_FETCH_16 -> prefetch();
      case SYNCHRONIZE_CACHE_10, SYNCHRONIZE_CACHE_16 -> synchronizeCache();
      case WRITE_SAME_10 -> writeSame(false);
      case WRITE_SAME_16 -> writeSame(cdb.bit(1, NO_DATA));
      case UNMAP -> unmap();
      case COMPARE_AND_WRITE -> compareAndWrite();
      case RESERVE_6, RESERVE_10 -> run(() -> unit.alone(() -> unit.reservations.reserve(nexus)));
      case RELEASE_6, RELEASE_10 -> run(() -> unit.alone(() -> unit.reservations.release(nexus)));
      case READ_KEYS, READ_RESERVATION, REPORT_CAPABILITIES, READ_FULL_STATUS ->
          new Action.Answer(PersistentReserve.in(operation, cdb, unit.reservations.state()));
      case REGISTER, RESERVE, RELEASE, CLEAR, PREEMPT, PREEMPT_AND_ABORT, REGISTER_ANYWAY ->
          persistentReserve(operation);
      case REPORT_LUNS -> throw new AssertionError("it is for the whole target");
    };
  }

  private static Action answer(byte[] data, long most) {
    return new Action.Answer(Inquiry.cut(data, most));
  }

  private static Action run(Action.Job job) {
    return new Action.Run(job);
  }

  /** Bytes that are of use as a whole: neither fewer nor more may be offered. */
  private Action collect(int length, Collected.Whole whole) throws ScsiException {
    if (offered != length) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return new Action.Take(length, 1, true, new Collected(length, whole));
  }

  /** There is nothing to start, stop or eject. */
  private Action startStop() throws ScsiException {
    boolean eject = cdb.bit(4, 0x02);
    int power = cdb.u8(4) >> 4;
    if (eject || power != 0) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return DONE;
  }

  private boolean fua() {
    return cdb.bit(1, FORCE_UNIT_ACCESS);
  }

  /** A range of bytes on the disk. */
  private record Range(long offset, long length) {}

  private Range range(long most) throws ScsiException {
    boolean six = cdb.u8(0) < 0x20;
    if (!six && cdb.bit(1, PROTECTION)) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    Range range = inside(cdb.lba(), cdb.blocks());
    if (cdb.blocks() > most) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return range;
  }

  private Range inside(long lba, long count) throws ScsiException {
    if (lba < 0 || lba > unit.blocks || count > unit.blocks - lba) {
      throw ScsiException.check(Sense.OUT_OF_RANGE);
    }
    return new Range(lba * BLOCK, count * BLOCK);
  }

  private Action read() throws ScsiException {
    Range range = range(Limits.TRANSFER);
    return new Action.Read(range.offset, range.length);
  }

  private Action write(boolean durable) throws ScsiException {
    Range range = range(Limits.TRANSFER);
    return new Action.Take(range.length, BLOCK, durable, new Writing(range.offset, durable));
  }

  /** Bytes go to the disk as they come. */
  private final class Writing implements Action.Intake {
    private final long offset;
    private final boolean durable;

    Writing(long offset, boolean durable) {
      this.offset = offset;
      this.durable = durable;
    }

    @Override
    public void accept(long at, ByteBuffer piece) throws ScsiException {
      unit.write(nexus, offset + at, piece);
    }

    @Override
    public void end(long received) throws ScsiException {
      if (durable) {
        unit.change(nexus, device::flush);
      }
    }
  }

  private Action writeAndVerify() throws ScsiException {
    boolean compare = compares();
    Range range = range(Limits.TRANSFER);
    var writing = new Writing(range.offset, true);
    var comparing = new Comparing(device, range.offset);
    return new Action.Take(
        range.length,
        BLOCK,
        true,
        new Action.Intake() {
          @Override
          public void accept(long at, ByteBuffer piece) throws ScsiException {
            ByteBuffer again = piece.duplicate();
            writing.accept(at, piece);
            if (compare) {
              comparing.accept(at, again);
            }
          }

          @Override
          public void end(long received) throws ScsiException {
            writing.end(received);
          }
        });
  }

  /** Whether bytes are sent to be compared. */
  private boolean compares() throws ScsiException {
    int check = (cdb.u8(1) >> 1) & 3;
    if (check > 1) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    return check == 1;
  }

  private Action verify() throws ScsiException {
    boolean compare = compares();
    Range range = range(Limits.TRANSFER);
    return compare
        ? new Action.Take(range.length, BLOCK, false, new Comparing(device, range.offset))
        : run(() -> Comparing.readable(device, range.offset, range.length));
  }

  private Action prefetch() throws ScsiException {
    Range range = inside(cdb.lba(), cdb.blocks());
    long length = cdb.blocks() == 0 ? device.size() - range.offset : range.length;
    return run(() -> device.fetch(range.offset, length));
  }

  private Action synchronizeCache() throws ScsiException {
    inside(cdb.lba(), cdb.blocks());
    return device.readOnly() ? DONE : run(device::flush);
  }

  private Action writeSame(boolean noData) throws ScsiException {
    boolean unmap = cdb.bit(1, UNMAP);
    Range range = range(Limits.WRITE_SAME);
    if (range.length == 0 || cdb.bit(1, ANCHOR)) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    if (noData) {
      return run(() -> unit.change(nexus, () -> device.zero(range.offset, range.length, unmap)));
    }
    return collect(BLOCK, block -> new Pattern(block).write(unit, nexus, range, unmap));
  }

  /** A block that is written again and again. */
  private record Pattern(ByteBuffer block) {
    void write(LogicalUnit unit, Nexus nexus, Range range, boolean unmap) throws ScsiException {
      if (block.mismatch(ByteBuffer.allocate(BLOCK)) < 0) {
        unit.change(nexus, () -> unit.device.zero(range.offset, range.length, unmap));
        return;
      }
      ByteBuffer many = ByteBuffer.allocateDirect((int) Math.min(1 << 18, range.length));
      while (many.hasRemaining()) {
        many.put(block.duplicate());
      }
      for (long done = 0; done < range.length; done += many.limit()) {
        many.clear().limit((int) Math.min(many.capacity(), range.length - done));
        unit.write(nexus, range.offset + done, many);
      }
    }
  }

  private Action unmap() throws ScsiException {
    int length = cdb.u16(7);
    if (cdb.bit(1, 1)) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    if (length == 0) {
      return DONE;
    }
    if (length < 8 || length > 8 + 16 * Limits.UNMAP_RANGES) {
      throw ScsiException.check(Sense.PARAMETER_LIST_LENGTH);
    }
    return collect(
        length,
        list -> {
          for (Range range : ranges(list)) {
            unit.change(nexus, () -> device.zero(range.offset, range.length, true));
          }
        });
  }

  /** All of them are looked at before the first is done. */
  private List<Range> ranges(ByteBuffer list) throws ScsiException {
    int bytes = Math.min(list.getShort(2) & 0xffff, list.limit() - 8) / 16 * 16;
    var ranges = new ArrayList<Range>();
    long total = 0;
    for (int at = 8; at < 8 + bytes; at += 16) {
      long count = list.getInt(at + 8) & 0xffffffffL;
      Range range = inside(list.getLong(at), count);
      total += count;
      if (range.length > 0) {
        ranges.add(range);
      }
    }
    if (total > Limits.UNMAP) {
      throw ScsiException.check(Sense.INVALID_PARAMETER);
    }
    return ranges;
  }

  private Action compareAndWrite() throws ScsiException {
    if (cdb.bit(1, PROTECTION) || cdb.u8(13) > Limits.COMPARE_AND_WRITE) {
      throw ScsiException.check(Sense.INVALID_FIELD);
    }
    Range range = inside(cdb.lba(), cdb.u8(13));
    boolean durable = fua();
    int half = (int) range.length;
    return collect(
        2 * half,
        both ->
            unit.alone(
                () -> {
                  new Comparing(device, range.offset).accept(0, both.slice(0, half));
                  unit.write(nexus, range.offset, both.slice(half, half));
                  if (durable) {
                    device.flush();
                  }
                }));
  }

  private Action persistentReserve(Operation operation) throws ScsiException {
    if (cdb.u32(5) != PersistentReserve.PARAMETERS) {
      throw ScsiException.check(Sense.PARAMETER_LIST_LENGTH);
    }
    return collect(
        PersistentReserve.PARAMETERS,
        parameters -> {
          var hit = new ArrayList<Nexus>();
          Reservations of = unit.reservations;
          unit.alone(
              () -> hit.addAll(PersistentReserve.out(operation, cdb, parameters, of, nexus)));
          hit.forEach(unit::abort); // not under the lock, which they may be waiting for
        });
  }

  private byte[] capacity10() {
    long last = Math.min(unit.blocks - 1, 0xffffffffL);
    return ByteBuffer.allocate(8).putInt((int) last).putInt(BLOCK).array();
  }

  /** Eight blocks are what a physical one has; not all have space, and those read as zeros. */
  private byte[] capacity16() {
    ByteBuffer out = ByteBuffer.allocate(32).putLong(unit.blocks - 1).putInt(BLOCK);
    out.put(13, (byte) 3).put(14, (byte) 0xc0);
    return out.array();
  }

  private byte[] lbaStatus() throws ScsiException {
    long lba = cdb.lba();
    if (lba < 0 || lba >= unit.blocks) {
      throw ScsiException.check(Sense.OUT_OF_RANGE);
    }
    List<LbaStatus.Run> runs = LbaStatus.runs(device, lba, MOST_LBA_STATUS);
    ByteBuffer out = ByteBuffer.allocate(8 + 16 * runs.size());
    out.putInt(4 + 16 * runs.size()).putInt(0);
    for (LbaStatus.Run run : runs) {
      out.putLong(run.lba()).putInt((int) run.blocks());
      out.putInt(run.kind() == Extent.Kind.HOLE ? 1 << 24 : 0);
    }
    return out.array();
  }
}
