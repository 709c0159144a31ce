package dev.platter.lab;

import java.nio.file.Files;
import java.nio.file.Path;

/** A file as a block device; writes to one are seen in the other. Needs root. */
public final class LoopDevice implements AutoCloseable {
  private final Path path;

  private LoopDevice(Path path) {
    this.path = path;
  }

  /** Whether this machine and this user can have one. */
  public static boolean isPossible() {
    return Files.isWritable(Path.of("/dev/loop-control"));
  }

  public static LoopDevice attach(Path file) {
    return new LoopDevice(Path.of(Shell.run("losetup", "--find", "--show", file).strip()));
  }

  /** Its node under {@code /dev}. */
  public Path path() {
    return path;
  }

  @Override
  public void close() {
    Shell.run("losetup", "--detach", path);
  }
}
