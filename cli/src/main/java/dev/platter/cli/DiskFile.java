package dev.platter.cli;

import dev.platter.image.BadImageException;
import dev.platter.image.ForeignFormat;
import dev.platter.image.GuestDisk;
import dev.platter.image.qcow2.Limits;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.image.raw.RawDisk;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A disk in a file of this machine, of the format that the user says or that its first bytes tell.
 * The first bytes of a raw disk belong to its guest, which could make it look like another format;
 * who knows the format should say it.
 *
 * @param disk closed with this
 */
record DiskFile(Path path, GuestDisk disk, Closeable owned, BasicFileAttributes opened)
    implements Closeable {

  /** What a file can be read as. */
  enum Format {
    RAW,
    QCOW2;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private static final byte[] QCOW2 = {'Q', 'F', 'I', (byte) 0xfb};

  static DiskFile open(Path path, @Nullable Format stated) throws IOException {
    BasicFileAttributes attributes;
    try {
      attributes = Files.readAttributes(path, BasicFileAttributes.class);
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no file " + path, "Name a raw or qcow2 disk.", e);
    }
    if (!attributes.isRegularFile()) {
      throw PlatterException.of(
          Code.INVALID, path + " is not a regular file", "Name a raw or qcow2 disk.");
    }
    return switch (stated == null ? probe(path) : stated) {
      case RAW -> {
        var raw = RawDisk.open(path);
        yield new DiskFile(path, raw, raw, attributes);
      }
      case QCOW2 -> {
        var qcow2 = Qcow2Reader.open(path, Limits.DEFAULT);
        yield new DiskFile(path, qcow2, qcow2, attributes);
      }
    };
  }

  private static Format probe(Path path) throws IOException {
    byte[] first;
    try (InputStream in = Files.newInputStream(path)) {
      first = in.readNBytes(ForeignFormat.LONGEST);
    }
    if (Arrays.equals(first, 0, Math.min(4, first.length), QCOW2, 0, 4)) {
      return Format.QCOW2;
    }
    var other = ForeignFormat.of(first);
    if (other.isPresent()) {
      throw new BadImageException(
          "it is "
              + other.get()
              + "; unpack or convert it (qemu-img convert -O qcow2 IN OUT), or say --format raw"
              + " if these are the first bytes of a raw disk");
    }
    return Format.RAW;
  }

  /** A disk that a VM writes to meanwhile would be half of one time and half of another. */
  void requireUnchanged() throws IOException {
    var now = Files.readAttributes(path, BasicFileAttributes.class);
    if (now.size() != opened.size() || !now.lastModifiedTime().equals(opened.lastModifiedTime())) {
      throw PlatterException.of(
          Code.CONFLICT,
          path + " was written to while it was packed",
          "Stop the VM that uses it, or push a copy.");
    }
  }

  @Override
  public void close() throws IOException {
    owned.close();
  }
}
