package dev.platter.node;

import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Which block device a path leads to, so that it is known again by whatever path and after a
 * restart of the machine: by the id that the kernel has of a device itself, of a loop device by its
 * file. Of a device that has none nothing is known once it was taken away or the machine was
 * started anew.
 */
final class DeviceIdentity {
  private static final Path SYSFS = Path.of("/sys/dev/block");
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

  /** Device-mapper, NVMe, SCSI, virtio, in the order in which they say more. */
  private static final List<String> IDS =
      List.of("dm/uuid", "wwid", "device/wwid", "serial", "device/serial");

  private DeviceIdentity() {}

  static String of(Path device) throws IOException {
    if (!Files.exists(device)) {
      return "path " + device;
    }
    var number = (long) Files.getAttribute(device, "unix:rdev");
    var node = SYSFS.resolve(major(number) + ":" + minor(number));
    // Not a block device, or a machine that does not tell.
    return Files.exists(node) ? identity(node.toRealPath()) : "path " + device;
  }

  private static String identity(Path node) throws IOException {
    if (Files.exists(node.resolve("partition"))) {
      return "%s from sector %s".formatted(identity(Durable.parent(node)), text(node, "start"));
    }
    var file = text(node, "loop/backing_file");
    if (!file.isEmpty()) {
      return loop(node, Path.of(file));
    }
    return IDS.stream()
        .map(id -> text(node, id))
        .filter(id -> !id.isEmpty())
        .findFirst()
        .map(id -> "id " + id)
        .orElseGet(() -> untilTaken(node));
  }

  private static String loop(Path node, Path file) throws IOException {
    if (!Files.isRegularFile(file)) {
      return untilTaken(node);
    }
    // Another file may get the number of one that was removed.
    var inode = Files.readAttributes(file, "unix:dev,ino,creationTime");
    return "file %s:%s of %s from byte %s"
        .formatted(
            inode.get("dev"),
            inode.get("ino"),
            inode.get("creationTime"),
            text(node, "loop/offset"));
  }

  /** The kernel counts all disks that it ever had. */
  private static String untilTaken(Path node) {
    var boot = Optional.of(text(BOOT)).filter(id -> !id.isEmpty()).orElse("?");
    return "disk %s of boot %s".formatted(text(node, "diskseq"), boot);
  }

  private static String text(Path node, String name) {
    return text(node.resolve(name));
  }

  private static String text(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException e) {
      return "";
    }
  }

  /** As the C library splits it. */
  private static long major(long number) {
    return ((number >> 8) & 0xfff) | ((number >> 32) & ~0xfffL);
  }

  private static long minor(long number) {
    return (number & 0xff) | ((number >> 12) & ~0xffL);
  }
}
