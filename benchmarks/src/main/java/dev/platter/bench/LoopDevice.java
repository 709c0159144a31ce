package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Path;

/** A block device made of a file, for as long as it is needed. */
final class LoopDevice implements AutoCloseable {
  private final Path device;

  LoopDevice(Path file, long size) throws IOException, InterruptedException {
    Tool.output("truncate", "-s", Long.toString(size), file.toString());
    this.device = Path.of(Tool.output("losetup", "--find", "--show", file.toString()).strip());
  }

  Path path() {
    return device;
  }

  @Override
  public void close() throws IOException {
    Tool.cleanUp("losetup", "--detach", device.toString());
  }
}
