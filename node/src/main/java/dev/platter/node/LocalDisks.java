package dev.platter.node;

import dev.platter.image.BadImageException;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.image.raw.PinnedFile;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseCopy;
import dev.platter.model.DiskFormat;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.volumes.DrawnFiles;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Files on this machine that hold disks: what may be opened, how large it is, how it is copied. */
final class LocalDisks {
  private final RawDevices given;
  private final Optional<DrawnFiles> drawn;
  private final Progress progress;

  LocalDisks(RawDevices given, Progress progress) {
    this(given, Optional.empty(), progress);
  }

  /**
   * @param given the devices that VMs may name
   * @param drawn of this machine's driver of volumes, if it has one
   */
  LocalDisks(RawDevices given, Optional<DrawnFiles> drawn, Progress progress) {
    this.given = given;
    this.drawn = drawn;
    this.progress = progress;
  }

  static PlatterException noSuchFile(Path file) {
    return PlatterException.of(
        Code.NOT_FOUND, "there is no file " + file, "Check the path in the disk's source.");
  }

  /** Refuses what QEMU must not open. */
  void check(Path file, DiskFormat format) throws IOException {
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      throw noSuchFile(file);
    }
    if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      throw PlatterException.of(
          Code.INVALID,
          file + " is not a regular file",
          "Name the file itself, not a link to it, a directory or a device.");
    }
    if (virtualSize(file, format) == 0) {
      throw PlatterException.of(
          Code.INVALID, file + " is empty", "A disk has at least one sector of 512 bytes.");
    }
  }

  /** Refuses a device that must not be used. */
  void checkDevice(Step.CheckDevice step) throws IOException {
    open(step.path(), step.listed()).close();
  }

  /** The device that QEMU must have open. */
  OpenFile expect(Step.CheckDevice step) throws IOException {
    return new OpenFile(Path.of(step.path()), openDevice(step.path(), step.listed()));
  }

  /** The same, also if it has to be {@link #served} before QEMU reads any of it. */
  OpenFile expectServed(Step.CheckDevice step) throws IOException {
    return new OpenFile(Path.of(step.path()), open(step.path(), step.listed()));
  }

  /**
   * How QEMU has to use a device whose file has holes where its disk has none: the volume that it
   * is begins as an image which is still being fetched. Empty for all others.
   */
  Optional<ServedBase> served(Step.CheckDevice step) throws IOException {
    return volume(step.path())
        .map(
            id ->
                new ServedBase(
                    Path.of(step.path()), id, drawn.map(DrawnFiles::socket).orElseThrow()));
  }

  private Optional<String> volume(String path) throws IOException {
    return drawn.isEmpty() ? Optional.empty() : drawn.get().volume(Path.of(path).toRealPath());
  }

  /**
   * Holds a device all of whose bytes are there, and which may be used.
   *
   * @param listed whether it must be one that this machine gives to VMs
   */
  PinnedFile openDevice(String path, boolean listed) throws IOException {
    var device = open(path, listed);
    try {
      if (volume(path).isPresent()) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            "the volume at " + path + " begins as an image that is still being fetched",
            "A VM can be started with it; try again when all of it is there and the VM has ended.");
      }
      return device;
    } catch (Throwable e) {
      device.close();
      throw e;
    }
  }

  /**
   * Holds a device that may be used. A link to a device is as good as the device: {@code /dev/disk}
   * is full of them.
   *
   * @param listed whether it must be one that this machine gives to VMs
   */
  private PinnedFile open(String path, boolean listed) throws IOException {
    try {
      var pinned = listed ? given.open(path) : PinnedFile.open(Path.of(path).toRealPath());
      try {
        checkDevice(path, pinned, listed);
        return pinned;
      } catch (Throwable e) {
        pinned.close();
        throw e;
      }
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no device " + path, "Check the path in the volume.", e);
    }
  }

  private static void checkDevice(String path, PinnedFile pinned, boolean listed)
      throws IOException {
    if (!pinned.isBlockDevice()) {
      throw PlatterException.of(
          Code.INVALID,
          path + " is " + pinned.kind() + " and not a block device",
          listed
              ? "Name a disk or a partition; a file is a disk by 'losetup --find --show FILE'."
              : "A volume that is a directory has volumeMode: Filesystem.");
    }
    if (isBusy(pinned.path())) {
      throw PlatterException.of(
          Code.CONFLICT,
          path
              + " is in use by this machine itself, which has mounted it or a part of it, or fills it",
          "Unmount it first: two file systems on one device destroy each other.");
    }
  }

  /** Somebody who asks the same question at the same moment makes it busy, but not for long. */
  private static boolean isBusy(Path device) throws IOException {
    for (var i = 0; i < 10; i++) {
      if (!PinnedFile.isBusy(device)) {
        return false;
      }
      LockSupport.parkNanos(10_000_000);
    }
    return true;
  }

  long virtualSize(Path file, DiskFormat format) throws IOException {
    try {
      return switch (format) {
        case RAW -> {
          // Not Files.size, which of a device is 0.
          try (var channel = FileChannel.open(file, StandardOpenOption.READ)) {
            yield channel.size();
          }
        }
        case QCOW2 -> Qcow2Reader.checkHeader(file, Limits.DEFAULT).virtualSize();
      };
    } catch (BadImageException e) {
      throw refused(file, e);
    } catch (NoSuchFileException e) {
      throw noSuchFile(file);
    }
  }

  /** Writes the raw form of a disk into a new file, which is on the disk when this returns. */
  void toRaw(Path from, DiskFormat format, Path to) throws IOException {
    var size = virtualSize(from, format);
    try {
      switch (format) {
        case RAW -> copyRaw(from, to, size);
        case QCOW2 -> {
          try (var reader = Qcow2Reader.open(from, Limits.DEFAULT);
              var target = RawTarget.create(to)) {
            reader.copyTo(target, done -> progress.bytes("unpack", done, size));
            target.force();
          }
        }
      }
    } catch (BadImageException e) {
      throw refused(from, e);
    }
  }

  /** What was checked is not a link, and what is copied is not one either. */
  private void copyRaw(Path from, Path to, long size) throws IOException {
    try (var pinned = PinnedFile.open(from)) {
      SparseCopy.copy(pinned.path(), to, done -> progress.bytes("copy", done, size));
    }
  }

  void copyDevice(PinnedFile from, Path to) throws IOException {
    var size = virtualSize(from.path(), DiskFormat.RAW);
    SparseCopy.copy(from.path(), to, done -> progress.bytes("copy", done, size));
  }

  private static PlatterException refused(Path file, BadImageException e) {
    return PlatterException.of(
        Code.REFUSED,
        file + " is refused: " + e.getMessage(),
        "Make a plain image of it on a machine you trust: qemu-img convert -O qcow2 IN OUT.",
        e);
  }
}
