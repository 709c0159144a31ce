package dev.platter.image.raw;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongConsumer;

/** Files with holes. */
public final class SparseFile {
  private static final int BUFFER = 1 << 20;
  private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(BUFFER).asReadOnlyBuffer();

  private SparseFile() {}

  /** Bytes of the file that are not a hole, as the file system tells it. */
  public static long allocated(Path path) throws IOException {
    long bytes = 0;
    try (NativeFile file = NativeFile.open(path)) {
      long data = file.nextData(0);
      while (data >= 0) {
        long hole = file.nextHole(data);
        bytes += hole - data;
        data = file.nextData(hole);
      }
    }
    return bytes;
  }

  /**
   * What the file takes of its file system, as {@code du} counts it: in contrast to {@link
   * #allocated} with space that is reserved but not written.
   */
  public static long onDisk(Path path) throws IOException {
    return Math.multiplyExact(512, NativeFile.blocks(path));
  }

  /**
   * Whether a file or block device has no byte but zeros. Holes are stepped over; a device is read
   * to its end.
   *
   * @param progress is told how many bytes were looked at
   */
  public static boolean isBlank(Path path, LongConsumer progress) throws IOException {
    try (NativeFile file = NativeFile.open(path)) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
      for (long at = file.nextData(0); at >= 0; at = file.nextData(at)) {
        for (long hole = file.nextHole(at); at < hole; ) {
          buffer.clear().limit((int) Math.min(BUFFER, hole - at));
          int n = file.channel().read(buffer, at);
          if (n < 0) {
            return true; // Somebody cut it off meanwhile.
          }
          if (buffer.flip().mismatch(ZEROS.slice(0, n)) >= 0) {
            return false;
          }
          at += n;
          progress.accept(at);
        }
      }
      return true;
    }
  }

  /** A blank raw disk, synced; fails if the name exists. The size is taken as it is. */
  public static void create(Path path, long size) throws IOException {
    if (size < 0) {
      throw new IllegalArgumentException("negative size");
    }
    try (NativeFile file = NativeFile.create(path)) {
      file.truncate(size);
      file.channel().force(true);
    }
  }

  /**
   * A new file that has the blocks of another until either is written to, as they are at one moment
   * even if somebody writes meanwhile; synced. False, and the name is free, where the file system
   * cannot.
   *
   * @param size if that is larger than the source
   */
  public static boolean share(Path source, Path target, long size) throws IOException {
    try (NativeFile from = NativeFile.open(source);
        NativeFile to = NativeFile.create(target)) {
      if (!to.cloneFrom(from)) {
        Files.delete(target);
        return false;
      }
      if (size > to.channel().size()) {
        to.truncate(size);
      }
      to.channel().force(true);
      return true;
    }
  }

  /** Makes a file larger by a hole, synced; one that is that large already stays as it is. */
  public static void grow(Path path, long size) throws IOException {
    try (NativeFile file = NativeFile.openToWrite(path)) {
      if (size > file.channel().size()) {
        file.truncate(size);
        file.channel().force(true);
      }
    }
  }
}
