package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/** A valid image of QEMU's, in memory, to be damaged byte by byte. */
final class ImageBytes {
  final ByteBuffer bytes;

  private ImageBytes(byte[] bytes) {
    this.bytes = ByteBuffer.wrap(bytes);
  }

  /** A disk of 1 MiB, three clusters of it written, the fourth packed. */
  static ImageBytes make(Path dir, String options) throws IOException {
    Path image = dir.resolve("valid.qcow2");
    Files.deleteIfExists(image);
    Qemu.img("create", "-f", "qcow2", "-o", options, image, "1M");
    int cluster = Qcow2Reader.checkHeader(image, Limits.DEFAULT).clusterSize();
    Qemu.io(
        image,
        "qcow2",
        "write -P 1 0 " + 3 * cluster,
        "write -c -P 2 " + 3 * cluster + " " + cluster);
    return new ImageBytes(Files.readAllBytes(image));
  }

  ImageBytes putInt(int at, int value) {
    bytes.putInt(at, value);
    return this;
  }

  ImageBytes putLong(long at, long value) {
    bytes.putLong((int) at, value);
    return this;
  }

  int size() {
    return bytes.capacity();
  }

  long l1() {
    return bytes.getLong(40);
  }

  long refcountTable() {
    return bytes.getLong(48);
  }

  long l2() {
    return bytes.getLong((int) l1()) & 0x00fffffffffffe00L;
  }

  long l2EntryAt(int index) {
    return l2() + index * 8L;
  }

  long l2Entry(int index) {
    return bytes.getLong((int) l2EntryAt(index));
  }

  /** Opens and reads all of it. */
  void read(Limits limits) throws IOException {
    try (Qcow2Reader reader = Qcow2Reader.open(ByteSource.of(bytes.array()), limits)) {
      ByteBuffer piece = ByteBuffer.allocate(1 << 16);
      for (long at = 0; reader.read(at, piece.clear()) > 0; at += piece.position()) {}
    }
  }

  /** The message with which it is refused; null if it is not. */
  String refusal() throws IOException {
    try {
      read(Limits.DEFAULT);
      return null;
    } catch (BadImageException e) {
      return e.getMessage();
    }
  }
}
