package dev.platter.node.volumes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * How full a volume is.
 *
 * @param inodes empty if it is used as a block device, of which nobody knows how full it is
 */
public record VolumeStats(long total, Optional<Room> bytes, Optional<Room> inodes) {
  /** In bytes or in inodes. */
  public record Room(long total, long used, long available) {}

  static VolumeStats ofDevice(Volume volume) {
    return new VolumeStats(volume.capacity(), Optional.empty(), Optional.empty());
  }

  static VolumeStats ofDirectory(Path path) throws IOException {
    var words =
        Tool.run("stat", "--file-system", "--format", "%S %b %f %a %c %d", path.toString())
            .strip()
            .split(" ");
    var n = new long[words.length];
    for (int i = 0; i < n.length; i++) {
      n[i] = Long.parseLong(words[i]);
    }
    var bytes = new Room(n[0] * n[1], n[0] * (n[1] - n[2]), n[0] * n[3]);
    return new VolumeStats(
        bytes.total(), Optional.of(bytes), Optional.of(new Room(n[4], n[4] - n[5], n[5])));
  }
}
