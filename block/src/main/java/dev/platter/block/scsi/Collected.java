package dev.platter.block.scsi;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Bytes that are of use only as a whole; commands limit how many that can be. */
final class Collected implements Action.Intake {
  /** What to do with them. */
  interface Whole {
    void use(ByteBuffer bytes) throws ScsiException, IOException;
  }

  private final ByteBuffer bytes;
  private final Whole whole;

  Collected(int length, Whole whole) {
    this.bytes = ByteBuffer.allocate(length);
    this.whole = whole;
  }

  @Override
  public void accept(long at, ByteBuffer piece) {
    bytes.put(piece);
  }

  @Override
  public void end(long received) throws ScsiException, IOException {
    whole.use(bytes.flip());
  }
}
