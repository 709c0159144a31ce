package dev.platter.image.raw;

import java.io.IOException;
import java.nio.file.Path;

/** A blank raw disk: a file of a size with nothing in it. */
public final class SparseFile {
  private SparseFile() {}

  /** Makes and syncs the file; fails if the name exists. The size is taken as it is. */
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
