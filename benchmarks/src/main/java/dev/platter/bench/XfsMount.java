package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file system that can share blocks, in a file, mounted for as long as it is needed. */
final class XfsMount implements AutoCloseable {
  private final LoopDevice device;
  private final Path directory;

  XfsMount(Path file, long size, Path directory) throws IOException, InterruptedException {
    this.directory = Files.createDirectory(directory);
    this.device = new LoopDevice(file, size);
    try {
      Tool.output("mkfs.xfs", "-q", device.path().toString());
      Tool.output("mount", device.path().toString(), directory.toString());
    } catch (Throwable e) {
      device.close();
      throw e;
    }
  }

  Path directory() {
    return directory;
  }

  @Override
  public void close() throws IOException {
    try {
      Tool.cleanUp("umount", directory.toString());
    } finally {
      device.close();
    }
  }
}
