package dev.platter.image.raw;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * Where the raw form of a disk is written: a file or a block device. After {@link #begin}, whatever
 * is written or zeroed or shared is there; whoever writes a disk says of each byte which of them it
 * is. Several threads may work on ranges that do not touch the same 4 KiB.
 */
public sealed interface RawTarget extends Closeable permits FileTarget, DeviceTarget {
  /** A new file; fails if the name exists. What is zero becomes a hole. */
  static RawTarget create(Path file) throws IOException {
    return FileTarget.create(file);
  }

  /** A file, of which nothing but its name is left. */
  static RawTarget emptied(Path file) throws IOException {
    return FileTarget.emptied(file);
  }

  /**
   * A file that is empty, or nothing but zeros and of the disk's size. The channel stays the
   * caller's.
   */
  static RawTarget of(FileChannel file) {
    return new FileTarget(file, null);
  }

  /** A block device, whatever it holds. It is written past the page cache. */
  static RawTarget device(Path device) throws IOException {
    return device(device, false);
  }

  /**
   * The same.
   *
   * @param blank whether somebody has just seen that all of it reads as zeros
   */
  static RawTarget device(Path device, boolean blank) throws IOException {
    return new DeviceTarget(NativeFile.openDevice(device), true, blank);
  }

  /**
   * Makes the target ready for a disk of this size.
   *
   * @throws IllegalArgumentException if it cannot hold one
   */
  void begin(long size) throws IOException;

  /**
   * The same, and what is not written afterwards reads as zeros: for who does not write a disk in
   * its order. Only a device that cannot be made blank otherwise is sent the zeros.
   */
  void beginBlank(long size) throws IOException;

  /** Whether these bytes are as good for {@link #write} as others: where they lie can matter. */
  boolean takes(ByteBuffer bytes);

  /** Writes what remains in direct {@code bytes}, which are used up. */
  void write(ByteBuffer bytes, long at) throws IOException;

  /** Makes a range read as zeros. */
  void zero(long at, long length) throws IOException;

  /** Whether {@link #share} is worth a try. */
  boolean mayShare();

  /**
   * Makes a range the same blocks as a range of a file, without a copy; both then go their own
   * ways.
   *
   * @return false if nothing was done, because it cannot be
   */
  boolean share(long at, NativeFile source, long offset, long length) throws IOException;

  /** Makes a file as long as the disk turned out to be; what is added reads as zeros. */
  void end(long size) throws IOException;

  /** Returns when everything is on the disk. */
  void force() throws IOException;
}
