package dev.platter.image.ext4;

import java.io.IOException;

/** Is shown what a file consists of, in order of the file. It may throw to see no more. */
interface BlockVisitor {
  /** Blocks of the file, {@code logical} and following, also such that are not written yet. */
  void data(long logical, long first, int count) throws IOException;

  /** A block that points to others. */
  void tree(long block) throws IOException;
}
