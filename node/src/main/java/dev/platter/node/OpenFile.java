package dev.platter.node;

import dev.platter.image.raw.PinnedFile;
import java.nio.file.Path;

/**
 * A file or device that QEMU opens by name, and which one that has to be. It is held for as long as
 * somebody compares: the number of an inode that nobody holds can go to the next file that is made,
 * and QEMU's own log would pass for the disk.
 */
public record OpenFile(Path path, PinnedFile file) implements AutoCloseable {
  /** As {@link PinnedFile#identity} tells it. */
  String identity() {
    return file.identity();
  }

  @Override
  public void close() {
    file.close();
  }
}
