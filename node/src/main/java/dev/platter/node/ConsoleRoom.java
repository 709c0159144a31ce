package dev.platter.node;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.SparseFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * How much of a console is kept. A guest can write without end, so the beginning of a log that is
 * too long becomes a hole: what readers know of positions in it stays true.
 */
public final class ConsoleRoom {
  static final long KEPT = 16 << 20;
  private static final long BLOCK = 4096;

  private ConsoleRoom() {}

  /** Gives room back once a log takes twice of what is kept. */
  public static void trim(Path log) throws IOException {
    if (!Files.exists(log) || SparseFile.allocated(log) < 2 * KEPT) {
      return;
    }
    try (var file = NativeFile.openToWrite(log)) {
      var gone = (file.channel().size() - KEPT) / BLOCK * BLOCK;
      if (gone > 0) {
        file.punchHole(0, gone);
      }
    }
  }

  /** The first position, from this one on, that is kept. */
  public static long next(Path log, long from) throws IOException {
    try (var file = NativeFile.open(log)) {
      return file.channel().size() - from <= KEPT ? from : file.nextData(from);
    }
  }
}
