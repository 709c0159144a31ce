package dev.platter.block.base;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** Reads and writes at a position of a file that do not stop half way. */
final class Fully {
  private Fully() {}

  /** False if the file ends before the buffer is full. */
  static boolean read(FileChannel from, ByteBuffer into, long position) throws IOException {
    for (long at = position; into.hasRemaining(); ) {
      int n = from.read(into, at);
      if (n < 0) {
        return false;
      }
      at += n;
    }
    return true;
  }

  static void write(FileChannel to, ByteBuffer bytes, long position) throws IOException {
    for (long at = position; bytes.hasRemaining(); ) {
      at += to.write(bytes, at);
    }
  }
}
