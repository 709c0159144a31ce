package dev.platter.node.volumes;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Those that a volume can have. */
enum FileSystem {
  EXT4,
  XFS;

  /** What blkid says of a device that has no signature it knows. */
  private static final int NOTHING_FOUND = 2;

  private static final int BEGINNING = 1 << 20;

  String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Optional<FileSystem> named(String word) {
    return List.of(values()).stream().filter(one -> one.word().equals(word)).findFirst();
  }

  /**
   * Empty if none can be seen, be it that the device cannot be read. What is on it and none of
   * these is not overwritten.
   */
  static Optional<FileSystem> on(Path device) throws IOException {
    var found =
        Tool.attempt("blkid", "-p", "-o", "value", "-s", "TYPE", "-s", "PTTYPE", device.toString());
    if (found.status() == NOTHING_FOUND) {
      return Optional.empty();
    }
    var type = named(found.output().strip());
    if (found.status() != 0 || type.isEmpty()) {
      throw PlatterException.of(
          Code.REFUSED,
          "what is on " + device + " is no file system of a volume: " + found.output().strip(),
          "Use the claim with volumeMode: Block, or another one.");
    }
    return type;
  }

  /** Whether it has nothing where file systems begin; fails if that cannot be read. */
  static boolean beginsBlank(Path device) throws IOException {
    var bytes = ByteBuffer.allocate(BEGINNING);
    try (var channel = FileChannel.open(device, StandardOpenOption.READ)) {
      while (bytes.hasRemaining() && channel.read(bytes) >= 0) {}
    }
    return bytes.flip().mismatch(ByteBuffer.allocate(bytes.remaining())) < 0;
  }

  /**
   * The programs take the device for themselves and write the mark by which it is known last: one
   * that an earlier process of ours left running is not disturbed, and half of one counts as none.
   */
  void make(Path device) throws IOException {
    switch (this) {
      case EXT4 ->
          Tool.run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", device.toString());
      case XFS -> Tool.run("mkfs.xfs", "-q", "-f", "-K", device.toString());
    }
  }

  /** A clone has the UUID of its origin, which XFS takes for the same file system. */
  void mount(Path device, Path target, List<String> wanted) throws IOException {
    var options = new ArrayList<>(wanted);
    if (this == XFS && !options.contains("nouuid")) {
      options.add("nouuid");
    }
    Mounts.mount(device, target, word(), options);
  }

  /** To the size of the device, while it is mounted; one that is that large stays as it is. */
  void grow(Path device, Path mounted) throws IOException {
    switch (this) {
      case EXT4 -> Tool.run("resize2fs", device.toString());
      case XFS -> Tool.run("xfs_growfs", "-d", mounted.toString());
    }
  }
}
