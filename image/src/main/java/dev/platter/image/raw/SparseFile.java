package dev.platter.image.raw;

import java.io.IOException;
import java.nio.file.Path;

/** Files with holes. */
public final class SparseFile {
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
}
