package dev.platter.image.qcow2;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Some clusters of a disk, which are counted in the order of the disk. Any number of threads may
 * read.
 */
public interface ClusterReader extends Closeable {
  /** The size of the disk. */
  long virtualSize();

  /** Where its clusters lie in the disk, ascending. */
  long[] addresses();

  /** Reads as many clusters as there is room for, by their numbers and not by where they lie. */
  void read(int first, ByteBuffer into) throws IOException;
}
