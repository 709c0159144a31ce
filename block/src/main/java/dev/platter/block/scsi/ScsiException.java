package dev.platter.block.scsi;

import dev.platter.block.NoSpaceException;
import java.io.IOException;

/** A command ends with another status than GOOD. Ordinary enough to go without a stack trace. */
public final class ScsiException extends Exception {
  private static final long serialVersionUID = 1;
  private static final int CHECK_CONDITION = 0x02;
  private static final int RESERVATION_CONFLICT = 0x18;
  private static final int TASK_SET_FULL = 0x28;

  private final int status;
  private final Sense sense;
  private final long information;

  private ScsiException(int status, Sense sense, long information) {
    super(sense.name(), null, false, false);
    this.status = status;
    this.sense = sense;
    this.information = information;
  }

  public static ScsiException check(Sense sense) {
    return new ScsiException(CHECK_CONDITION, sense, -1);
  }

  static ScsiException check(Sense sense, long information) {
    return new ScsiException(CHECK_CONDITION, sense, information);
  }

  static ScsiException conflict() {
    return new ScsiException(RESERVATION_CONFLICT, Sense.NONE, -1);
  }

  public static ScsiException full() {
    return new ScsiException(TASK_SET_FULL, Sense.NONE, -1);
  }

  public static ScsiException reading(IOException e) {
    return check(Sense.READ_ERROR);
  }

  public static ScsiException writing(IOException e) {
    return check(e instanceof NoSpaceException ? Sense.NO_SPACE : Sense.WRITE_ERROR);
  }

  public int status() {
    return status;
  }

  /** Empty unless the status is CHECK CONDITION. */
  public byte[] sense() {
    return status == CHECK_CONDITION ? sense.bytes(information) : new byte[0];
  }
}
