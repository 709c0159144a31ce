package dev.platter.node;

import dev.platter.image.raw.PinnedFile;
import dev.platter.image.raw.SparseWriter;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.plan.PlannedDisk.Link;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** What disks are made from, wherever it is: how large it is, and how it is copied. */
final class Masters {
  private final LocalDisks local;
  private final NetworkReader network;

  Masters(LocalDisks local, NetworkReader network) {
    this.local = local;
    this.network = network;
  }

  /** The size of a disk made from it: the size asked for, if it is not too small, else its own. */
  long sizeOf(Link master, @Nullable Long wanted, boolean orLarger, SecretData secrets)
      throws IOException {
    var remote = master.network();
    var size =
        remote == null
            ? local.virtualSize(file(master), master.format())
            : network.size(remote, secrets);
    return orLarger && wanted != null ? Math.max(size, wanted) : sized(master, size, wanted);
  }

  private static long sized(Link master, long least, @Nullable Long wanted) {
    if (wanted != null && wanted < least) {
      throw PlatterException.of(
          Code.INVALID,
          "a size of "
              + wanted
              + " bytes would cut off the end of "
              + master
              + ", which has "
              + least
              + " bytes",
          "Leave the size out, or make it larger.");
    }
    return wanted == null ? least : wanted;
  }

  /**
   * A raw copy of all bytes, grown to the size asked for.
   *
   * @param device what the clone is made from, if that is a device
   */
  void copy(Step.CloneDisk clone, @Nullable PinnedFile device, Path to, SecretData secrets)
      throws IOException {
    var remote = clone.from().network();
    if (remote != null) {
      network.copy(remote, secrets, to, size -> sized(clone.from(), size, clone.size()));
      return;
    }
    var size = sizeOf(clone.from(), clone.size(), false, secrets);
    if (device == null) {
      local.toRaw(file(clone.from()), clone.from().format(), to);
    } else {
      local.copyDevice(device, to);
    }
    try (var channel = FileChannel.open(to, StandardOpenOption.WRITE)) {
      if (channel.size() < size) {
        SparseWriter.extend(channel, size);
        channel.force(true);
      }
    }
  }

  private static Path file(Link link) {
    return Path.of(link.toString());
  }
}
