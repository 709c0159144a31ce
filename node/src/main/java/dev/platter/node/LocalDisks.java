package dev.platter.node;

import dev.platter.image.BadImageException;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseCopy;
import dev.platter.image.raw.SparseWriter;
import dev.platter.model.DiskFormat;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Files on this machine that hold disks: what may be opened, how large it is, how it is copied. */
final class LocalDisks {
  private final Progress progress;

  LocalDisks(Progress progress) {
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

  long virtualSize(Path file, DiskFormat format) throws IOException {
    try {
      return switch (format) {
        case RAW -> Files.size(file);
        case QCOW2 -> Qcow2Reader.checkHeader(file, Limits.DEFAULT).virtualSize();
      };
    } catch (BadImageException e) {
      throw refused(file, e);
    } catch (NoSuchFileException e) {
      throw noSuchFile(file);
    }
  }

  /**
   * The size of a disk made from a file: the size asked for, if it is not too small, else the
   * file's.
   */
  long sizeOf(Path from, DiskFormat format, @Nullable Long wanted) throws IOException {
    var least = virtualSize(from, format);
    if (wanted != null && wanted < least) {
      throw PlatterException.of(
          Code.INVALID,
          "a size of "
              + wanted
              + " bytes would cut off the end of "
              + from
              + ", which has "
              + least
              + " bytes",
          "Leave the size out, or make it larger.");
    }
    return wanted == null ? least : wanted;
  }

  /** A raw copy of all bytes, grown to the size asked for. */
  void copy(Step.CloneDisk clone, Path to) throws IOException {
    var from = Path.of(clone.from());
    var size = sizeOf(from, clone.format(), clone.size());
    toRaw(from, clone.format(), to);
    try (var channel = FileChannel.open(to, StandardOpenOption.WRITE)) {
      if (channel.size() < size) {
        SparseWriter.extend(channel, size);
        channel.force(true);
      }
    }
  }

  /** Writes the raw form of a disk into a new file, which is on the disk when this returns. */
  void toRaw(Path from, DiskFormat format, Path to) throws IOException {
    var size = virtualSize(from, format);
    try {
      switch (format) {
        case RAW -> SparseCopy.copy(from, to, done -> progress.bytes("copy", done, size));
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

  private static PlatterException refused(Path file, BadImageException e) {
    return PlatterException.of(
        Code.REFUSED,
        file + " is refused: " + e.getMessage(),
        "Make a plain image of it on a machine you trust: qemu-img convert -O qcow2 IN OUT.",
        e);
  }
}
