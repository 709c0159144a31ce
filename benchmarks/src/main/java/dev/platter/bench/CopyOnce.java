package dev.platter.bench;

import dev.platter.block.nbd.DiskCopy;
import dev.platter.node.network.RemoteDisk;
import dev.platter.node.network.Target;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Our copy of a network disk as a process of its own: {@code OPTIONS RUN-DIRECTORY FILE}. */
final class CopyOnce {
  private CopyOnce() {}

  public static void main(String[] args) throws IOException {
    copy(new Target(args[0], List.of()), Path.of(args[1]), Path.of(args[2]));
  }

  /** Connects, copies, syncs, closes, as the step of a plan does. */
  static void copy(Target from, Path run, Path to) throws IOException {
    try (var disk = RemoteDisk.open(from, run)) {
      DiskCopy.toNewFile(disk, to, disk.size(), (_, _) -> {});
    }
  }
}
