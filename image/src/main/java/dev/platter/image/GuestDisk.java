package dev.platter.image;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The bytes of a disk as a guest sees them, whatever file they come from. They do not change while
 * the disk is read.
 */
public interface GuestDisk {
  /** The size of the disk in bytes. */
  long virtualSize() throws IOException;

  /**
   * Reads the disk at an offset until {@code into} is full or the disk ends.
   *
   * @return the number of bytes, -1 at or past the end of the disk
   */
  int read(long guestOffset, ByteBuffer into) throws IOException;

  /**
   * Shows, in order of the disk, the stretches that may hold something other than zeros; all else
   * is zeros. This is what makes a large, empty disk as quick as a small one.
   */
  void visitData(Stretches visitor) throws IOException;

  /** Is shown one stretch after the other. */
  @FunctionalInterface
  interface Stretches {
    void data(long guestOffset, long length) throws IOException;
  }
}
