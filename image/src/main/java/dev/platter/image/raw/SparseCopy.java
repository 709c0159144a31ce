package dev.platter.image.raw;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongConsumer;

/**
 * Copies a raw disk. Where the file system can share blocks (XFS, Btrfs), nothing is copied at all;
 * otherwise holes are stepped over, so that time and space follow the data and not the size, and
 * blocks of zeros become holes.
 *
 * <p>The source must not be written to meanwhile. Left out: copying inside the kernel
 * (copy_file_range), which cannot look for zeros.
 */
public final class SparseCopy {
  /** How a copy was made. */
  public enum Way {
    /** The files share their blocks until one of them is written to. */
    CLONED,
    /** The bytes were copied. */
    COPIED
  }

  private static final int BUFFER = 1 << 20;
  private static final int PAGE = 4096;

  private SparseCopy() {}

  /**
   * Copies a file to a name that must not exist, and syncs it. If that fails, the name is free
   * again.
   *
   * @param progress is told how many bytes of the size are done
   */
  public static Way copy(Path source, Path target, LongConsumer progress) throws IOException {
    try (NativeFile from = NativeFile.open(source);
        NativeFile to = NativeFile.create(target)) {
      try {
        long size = from.channel().size();
        Way way = Way.CLONED;
        if (!to.cloneFrom(from)) {
          way = Way.COPIED;
          to.truncate(size);
          copyData(from, to.channel(), size, progress);
        }
        to.channel().force(true);
        progress.accept(size);
        return way;
      } catch (Throwable e) {
        Files.deleteIfExists(target);
        throw e;
      }
    }
  }

  /**
   * Writes a disk over whatever the target holds, and syncs it: what is a hole in the file reads as
   * zeros there.
   *
   * @param progress is told how many bytes of the size are done
   */
  public static void copy(Path source, RawTarget target, LongConsumer progress) throws IOException {
    copy(source, target, Files.size(source), progress);
  }

  /**
   * The same to a target that is larger than the disk: what lies behind the disk reads as zeros.
   *
   * @param room how large the target is
   */
  public static void copy(Path source, RawTarget target, long room, LongConsumer progress)
      throws IOException {
    try (NativeFile from = NativeFile.open(source)) {
      long size = from.channel().size();
      target.begin(room);
      // Aligned, so that a device can be written past the page cache.
      ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER + PAGE).alignedSlice(PAGE);
      for (long hole = 0; hole < size; ) {
        long found = from.nextData(hole);
        long data = found < 0 ? size : found;
        target.zero(hole, data - hole);
        hole = data < size ? Math.min(size, from.nextHole(data)) : size;
        write(from.channel(), data, hole, target, buffer, progress);
        progress.accept(hole);
      }
      target.zero(size, room - size);
      target.force();
    }
  }

  private static void write(
      FileChannel source,
      long from,
      long to,
      RawTarget target,
      ByteBuffer buffer,
      LongConsumer progress)
      throws IOException {
    for (long at = from; at < to; ) {
      buffer.clear().limit((int) Math.min(BUFFER, to - at));
      while (buffer.hasRemaining()) {
        if (source.read(buffer, at + buffer.position()) < 0) {
          throw new EOFException("the source ends at " + (at + buffer.position()));
        }
      }
      long length = buffer.position();
      target.write(buffer.flip(), at);
      at += length;
      progress.accept(at);
    }
  }

  /**
   * Copies a range into a part of the target that reads as zeros. Holes of the source are read as
   * zeros, since a channel does not tell where they are. Not synced.
   *
   * @param progress is told how many bytes of the range are done
   */
  public static void copyRange(
      FileChannel source,
      long sourceOffset,
      long length,
      FileChannel target,
      long targetOffset,
      LongConsumer progress)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect((int) Math.min(BUFFER, length));
    copy(source, sourceOffset, length, target, targetOffset, buffer, progress);
    SparseWriter.extend(target, targetOffset + length);
  }

  private static void copyData(NativeFile from, FileChannel to, long size, LongConsumer progress)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect((int) Math.min(BUFFER, size));
    for (long hole = 0; hole < size; ) {
      long data = from.nextData(hole);
      if (data < 0) {
        return;
      }
      hole = Math.min(size, from.nextHole(data));
      copy(
          from.channel(),
          data,
          hole - data,
          to,
          data,
          buffer,
          done -> progress.accept(data + done));
    }
  }

  private static void copy(
      FileChannel source,
      long sourceOffset,
      long length,
      FileChannel target,
      long targetOffset,
      ByteBuffer buffer,
      LongConsumer progress)
      throws IOException {
    for (long done = 0; done < length; ) {
      buffer.clear().limit((int) Math.min(buffer.capacity(), length - done));
      int n = source.read(buffer, sourceOffset + done);
      if (n < 0) {
        throw new EOFException("the source ends at " + (sourceOffset + done) + " while copied");
      }
      SparseWriter.write(target, buffer.flip(), targetOffset + done);
      done += n;
      progress.accept(done);
    }
  }
}
