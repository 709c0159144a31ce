package dev.platter.node.serve;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.util.List;

/**
 * A disk that is served.
 *
 * @param name where it comes from, for people
 */
public record ServedDisk(String name, BlockDevice device) {
  static void close(List<ServedDisk> disks) throws IOException {
    for (var disk : disks) {
      disk.device.close();
    }
  }
}
