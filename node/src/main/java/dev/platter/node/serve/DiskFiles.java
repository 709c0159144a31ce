package dev.platter.node.serve;

import dev.platter.block.BlockDevice;
import dev.platter.block.FileDevice;
import dev.platter.block.Qcow2Device;
import dev.platter.image.BadImageException;
import dev.platter.image.ForeignFormat;
import dev.platter.image.oci.ExtractedDisk.Format;
import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Disks in files that came with a container image, and that nobody vouches for. No link is
 * followed, and what was looked at is what is opened. The format is what the first bytes say: both
 * formats are read by us, so a raw disk whose guest wrote the head of a qcow2 is at worst refused.
 */
final class DiskFiles {
  private DiskFiles() {}

  /** The disks of a directory in the order of their names, or the one in a file. */
  static List<ServedDisk> open(Path path) throws IOException {
    try (var pinned = pin(path)) {
      if (!pinned.isDirectory()) {
        return List.of(open(path, pinned));
      }
      List<ServedDisk> disks = new ArrayList<>();
      try {
        for (var name : names(pinned)) {
          try (var file = pin(pinned.path().resolve(name))) {
            if (!file.isDirectory()) {
              disks.add(open(path.resolve(name), file));
            }
          }
        }
        return disks;
      } catch (IOException | RuntimeException e) {
        ServedDisk.close(disks);
        throw e;
      }
    }
  }

  private static PinnedFile pin(Path path) throws IOException {
    try {
      return PinnedFile.open(path);
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "there is no " + path,
          "Name a directory with disks, or images: 'platter serve --help'.",
          e);
    }
  }

  /** Without those that begin with a dot: they are somebody's notes. */
  private static List<String> names(PinnedFile directory) throws IOException {
    try (var files = Files.list(directory.path())) {
      return files
          .map(file -> String.valueOf(file.getFileName()))
          .filter(name -> !name.startsWith("."))
          .sorted()
          .toList();
    }
  }

  private static ServedDisk open(Path path, PinnedFile file) throws IOException {
    if (!file.isRegular()) {
      throw PlatterException.of(
          Code.REFUSED,
          path + " is " + file.kind() + ", and only regular files are disks",
          "Put the raw or qcow2 file itself there.");
    }
    try {
      return new ServedDisk(path.toString(), device(file));
    } catch (BadImageException e) {
      throw PlatterException.of(
          Code.REFUSED,
          path + " is refused: " + e.getMessage(),
          "A disk is a raw file, or a qcow2 without a backing file or encryption.",
          e);
    } catch (AccessDeniedException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          path + " cannot be read by this user",
          "Let everybody read it; in a Dockerfile: ADD --chmod=444 disk.qcow2 /disk",
          e);
    }
  }

  private static BlockDevice device(PinnedFile file) throws IOException {
    byte[] first;
    try (var in = Files.newInputStream(file.path())) {
      first = in.readNBytes(ForeignFormat.LONGEST);
    }
    var other = ForeignFormat.of(first);
    if (other.isPresent()) {
      throw new BadImageException("it is " + other.get());
    }
    if (first.length == 0) {
      throw new BadImageException("it is empty");
    }
    return switch (Format.of(first)) {
      case RAW -> FileDevice.openReadOnly(file.path());
      case QCOW2 -> Qcow2Device.open(file.path());
    };
  }
}
