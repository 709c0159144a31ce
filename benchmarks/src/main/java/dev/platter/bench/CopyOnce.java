package dev.platter.bench;

import dev.platter.block.nbd.DiskCopy;
import dev.platter.node.network.NbdDisk;
import dev.platter.node.network.OpenDisk;
import dev.platter.node.network.RemoteCopy;
import dev.platter.node.network.RemoteDisk;
import dev.platter.node.network.Target;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.List;

/**
 * Our copy of a network disk as a process of its own: {@code OPTIONS RUN-DIRECTORY FILE}, or {@code
 * SOCKET EXPORT RUN-DIRECTORY FILE} for an NBD server.
 */
final class CopyOnce {
  private CopyOnce() {}

  public static void main(String[] args) throws IOException {
    if (args.length == 4) {
      copy(NbdDisk.open(UnixDomainSocketAddress.of(args[0]), args[1]), Path.of(args[3]));
    } else {
      var target = new Target(args[0], List.of());
      copy(RemoteDisk.open(target, Path.of(args[1])), Path.of(args[2]));
    }
  }

  /** Connects, copies, syncs, closes, as the step of a plan does. */
  static void copy(OpenDisk from, Path to) throws IOException {
    try (var disk = from) {
      DiskCopy.toNewFile(disk, to, disk.size(), (_, _) -> {});
    }
  }

  /** The same, where QEMU itself copies. */
  static void copy(RemoteCopy begun) throws IOException {
    try (var copy = begun) {
      copy.finish(copy.size(), (_, _) -> {});
    }
  }
}
