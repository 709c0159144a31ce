package dev.platter.block.scsi;

import java.io.IOException;
import java.nio.ByteBuffer;

/** What is left to do for a command that may be carried out; the transport does it. */
public sealed interface Action {
  /** Nothing but to send these bytes, if any. */
  final class Answer implements Action {
    private final byte[] data;

    Answer(byte[] data) {
      this.data = data;
    }

    public byte[] data() {
      return data;
    }
  }

  /** Bytes of the disk go to the initiator. */
  record Read(long offset, long length) implements Action {}

  /** Something that may take long and sends nothing. */
  record Run(Job job) implements Action {}

  /**
   * Bytes from the initiator.
   *
   * @param step of fewer bytes, if the initiator offers fewer, a multiple of this is of use
   * @param slow whether the end may take long
   */
  record Take(long length, int step, boolean slow, Intake intake) implements Action {}

  /** Work that fails in SCSI's words, or because the device does. */
  interface Job {
    void run() throws ScsiException, IOException;
  }

  /** Takes bytes in order, in pieces of any size. */
  interface Intake {
    /** Uses up what remains of the piece. */
    void accept(long at, ByteBuffer piece) throws ScsiException, IOException;

    /**
     * After the last piece.
     *
     * @param received fewer than asked for if the initiator offers fewer
     */
    void end(long received) throws ScsiException, IOException;
  }
}
