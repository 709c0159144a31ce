package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;

import dev.platter.block.scsi.Action;
import dev.platter.block.scsi.ScsiException;
import dev.platter.block.scsi.Sense;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The data of one command on their way to us: with the command, after it without being asked for,
 * and as asked for, one burst at a time and in order. After another order, other amounts, wrong
 * numbers or a wrong digest the command fails at the end of the sequence: with error recovery level
 * 0 nothing is asked for again.
 */
final class Transfer {
  private final Task task;
  private final Action.Take take;
  private final Parameters agreed;
  private final long wanted;
  private final int transferTag;
  private long received;
  private long end;
  private int dataNumber;
  private int requests;
  private boolean solicited;
  private @Nullable ScsiException failure;

  Transfer(Task task, Action.Take take, Parameters agreed, int transferTag) {
    this.task = task;
    this.take = take;
    this.agreed = agreed;
    this.transferTag = transferTag;
    this.wanted = Math.min(take.length(), task.command().writable());
    this.end = Math.min(agreed.firstBurst, task.command().writable());
    if (wanted < take.length() && wanted % take.step() != 0) {
      failure = ScsiException.check(Sense.INVALID_INFORMATION_UNIT);
    }
  }

  Task task() {
    return task;
  }

  Action.Take take() {
    return take;
  }

  @Nullable ScsiException failure() {
    return failure;
  }

  long received() {
    return Math.min(received, wanted);
  }

  /**
   * Data that come with the command.
   *
   * @param data null if they were damaged
   */
  void immediate(int length, @Nullable ByteBuffer data) {
    arrived(length, data, length <= end);
  }

  /** True if a sequence of data ends here. */
  boolean dataOut(ByteBuffer header, int length, @Nullable ByteBuffer data) {
    boolean last = (header.get(1) & FINAL) != 0;
    boolean expected =
        header.getInt(20) == (solicited ? transferTag : NO_TAG)
            && header.getInt(36) == dataNumber
            && (header.getInt(40) & 0xffffffffL) == received
            && length <= end - received
            && (!solicited || last == (length == end - received));
    dataNumber++;
    arrived(length, data, expected);
    return last;
  }

  private void arrived(int length, @Nullable ByteBuffer data, boolean expected) {
    if (data == null || !expected) {
      failure = failure == null ? ScsiException.check(Sense.DATA_LOST) : failure;
    } else {
      handOn(data);
    }
    received += length;
  }

  private void handOn(ByteBuffer data) {
    int useful = (int) Math.max(0, Math.min(data.remaining(), wanted - received));
    if (failure == null && useful > 0) {
      try {
        task.accept(take.intake(), received, data.slice(data.position(), useful));
      } catch (ScsiException e) {
        failure = e;
      } catch (IOException e) {
        failure = ScsiException.writing(e);
      }
    }
  }

  /** Asks for the next burst; null if nothing is missing, or wanted any more. */
  @Nullable ByteBuffer request() {
    if (failure != null || received >= wanted) {
      return null;
    }
    solicited = true;
    dataNumber = 0;
    int length = (int) Math.min(agreed.maxBurst, wanted - received);
    end = received + length;
    return Outbox.header(READY_TO_TRANSFER, FINAL, task.command().tag())
        .putLong(8, task.command().lun())
        .putInt(20, transferTag)
        .putInt(36, requests++)
        .putInt(40, (int) received)
        .putInt(44, length);
  }
}
