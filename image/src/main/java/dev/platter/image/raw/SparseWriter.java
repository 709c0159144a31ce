package dev.platter.image.raw;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

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
  private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[BLOCK]).asReadOnly();

  private SparseWriter() {}

  /** Takes what is not zero. */
  interface Sink {
    /** Uses up what remains in {@code run}. */
    void write(ByteBuffer run, long position) throws IOException;
  }

  /** Writes what remains in {@code bytes}; the buffer is used up, even where nothing is written. */
  public static void write(FileChannel target, ByteBuffer bytes, long position) throws IOException {
    write((run, at) -> writeRun(target, run, at), bytes, position);
  }

  static void write(Sink target, ByteBuffer bytes, long position) throws IOException {
    MemorySegment segment = MemorySegment.ofBuffer(bytes);
    int base = bytes.position();
    int length = bytes.remaining();
    int end = bytes.limit();
    int runStart = -1;
    for (int at = 0; at < length; ) {
      int next = (int) Math.min(length, at + BLOCK - (position + at) % BLOCK);
      boolean zero = isZero(segment, at, next);
      if (!zero && runStart < 0) {
        runStart = at;
      } else if (zero && runStart >= 0) {
        target.write(bytes.limit(base + at).position(base + runStart), position + runStart);
        bytes.limit(end);
        runStart = -1;
      }
      at = next;
    }
    if (runStart >= 0) {
      target.write(bytes.position(base + runStart), position + runStart);
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

  /**
   * Whether a range, at most a block, is nothing but zeros; one of data nearly always shows it in
   * its first bytes. What is mapped is read here, slowly until the JVM has compiled it: where
   * {@link MemorySegment#mismatch} runs into the end of a mapped file, the JVM crashes, while these
   * reads only fail.
   */
  static boolean isZero(MemorySegment bytes, int from, int to) {
    if (!bytes.isMapped()) {
      return MemorySegment.mismatch(bytes, from, to, ZEROS, 0, to - from) < 0;
    }
    int at = from;
    for (; at <= to - 32; at += 32) {
      if ((bytes.get(JAVA_LONG_UNALIGNED, at)
              | bytes.get(JAVA_LONG_UNALIGNED, at + 8)
              | bytes.get(JAVA_LONG_UNALIGNED, at + 16)
              | bytes.get(JAVA_LONG_UNALIGNED, at + 24))
          != 0) {
        return false;
      }
    }
    for (; at < to; at++) {
      if (bytes.get(JAVA_BYTE, at) != 0) {
        return false;
      }
    }
    return true;
  }

  /** Makes an emptier file {@code size} long; the last byte is written, as Java cannot extend. */
  public static void extend(FileChannel target, long size) throws IOException {
    if (target.size() < size) {
      writeRun(target, ByteBuffer.allocate(1), size - 1);
    }
  }
}
