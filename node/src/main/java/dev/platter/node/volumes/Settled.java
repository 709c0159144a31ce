package dev.platter.node.volumes;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Brings what users of a volume have written to its file, so that it is in a copy of the file. What
 * they write meanwhile may be in it or not, in the order of a power cut; nobody is stopped, since a
 * process that dies would leave them so.
 */
final class Settled {
  private Settled() {}

  static void settle(Path file) throws IOException {
    for (var device : LoopDevices.of(file)) {
      for (var mount : Mounts.fileSystems(device.path())) {
        Tool.run("sync", "--file-system", mount.target().toString());
      }
      if (!device.readOnly()) {
        Tool.run("sync", device.path().toString());
      }
    }
  }
}
