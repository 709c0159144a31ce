package dev.platter.image.raw;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Writes into a file that reads as zeros where it goes, and leaves out aligned blocks of 4 KiB that
 * are zero: they stay holes. 4 KiB is what file systems allocate and what qemu-img looks for.
 */
public final class SparseWriter {
  private static final int BLOCK = 4096;
  private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[BLOCK]);

  private SparseWriter() {}

  /** Writes what remains in {@code bytes}; the buffer is used up, even where nothing is written. */
  public static void write(FileChannel target, ByteBuffer bytes, long position) throws IOException {
    MemorySegment segment = MemorySegment.ofBuffer(bytes);
    int base = bytes.position();
    int length = bytes.remaining();
    int end = bytes.limit();
    int runStart = -1;
    for (int at = 0; at < length; ) {
      int next = (int) Math.min(length, at + BLOCK - (position + at) % BLOCK);
      boolean zero = MemorySegment.mismatch(segment, at, next, ZEROS, 0, next - at) < 0;
      if (!zero && runStart < 0) {
        runStart = at;
      } else if (zero && runStart >= 0) {
        writeRun(target, bytes.limit(base + at).position(base + runStart), position + runStart);
        bytes.limit(end);
        runStart = -1;
      }
      at = next;
    }
    if (runStart >= 0) {
      writeRun(target, bytes.position(base + runStart), position + runStart);
    }
    bytes.position(end);
  }

  private static void writeRun(FileChannel target, ByteBuffer run, long position)
      throws IOException {
    long at = position;
    while (run.hasRemaining()) {
      at += target.write(run, at);
    }
  }

  /** Makes an emptier file {@code size} long; the last byte is written, as Java cannot extend. */
  public static void extend(FileChannel target, long size) throws IOException {
    if (target.size() < size) {
      writeRun(target, ByteBuffer.allocate(1), size - 1);
    }
  }
}
