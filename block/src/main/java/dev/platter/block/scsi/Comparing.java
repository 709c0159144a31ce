package dev.platter.block.scsi;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Compares what comes with what the disk has. */
final class Comparing implements Action.Intake {
  private static final int PIECE = 1 << 16;

  private final BlockDevice device;
  private final long offset;

  Comparing(BlockDevice device, long offset) {
    this.device = device;
    this.offset = offset;
  }

  @Override
  public void accept(long at, ByteBuffer piece) throws ScsiException {
    ByteBuffer ours = ByteBuffer.allocate(Math.min(PIECE, piece.remaining()));
    for (long done = 0; piece.hasRemaining(); done += ours.limit()) {
      ours.clear().limit(Math.min(ours.capacity(), piece.remaining()));
      fill(device, offset + at + done, ours);
      ByteBuffer theirs = piece.slice(piece.position(), ours.limit());
      int different = ours.flip().mismatch(theirs);
      if (different >= 0) {
        throw ScsiException.check(Sense.MISCOMPARE, at + done + different);
      }
      piece.position(piece.position() + ours.limit());
    }
  }

  @Override
  public void end(long received) {}

  /** Reads and forgets. */
  static void readable(BlockDevice device, long offset, long length) throws ScsiException {
    ByteBuffer piece = ByteBuffer.allocate((int) Math.min(PIECE, length));
    for (long done = 0; done < length; done += piece.limit()) {
      fill(device, offset + done, piece.clear().limit((int) Math.min(PIECE, length - done)));
    }
  }

  private static void fill(BlockDevice device, long offset, ByteBuffer into) throws ScsiException {
    try {
      device.read(offset, into);
    } catch (IOException e) {
      throw ScsiException.reading(e);
    }
  }
}
