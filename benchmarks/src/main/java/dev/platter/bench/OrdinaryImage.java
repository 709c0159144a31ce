package dev.platter.bench;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.MediaTypes;
import dev.platter.lab.DebianGuest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;

/**
 * An image as {@code FROM scratch}, {@code ADD disk.qcow2 /disk/} makes it: one layer, packed by
 * tar and gzip, of which nothing tells where what is.
 *
 * <p>The disk has the data of the Debian guest several times over, each time with its bytes changed
 * by another constant: as compressible as the real thing, and no copy of it.
 *
 * @param raw the disk
 * @param qcow2 the file in the layer
 */
record OrdinaryImage(PushedImage image, Path raw, Path qcow2, Digest layer, long layerSize) {
  static final int COPIES = 4;
  private static final int PIECE = 1 << 16;

  static OrdinaryImage push(Path work, String registry) throws Exception {
    var guest = work.resolve("guest.raw");
    Tool.time("qemu-img", "convert", "-O", "raw", DebianGuest.qcow2().toString(), guest.toString());
    var raw = disk(guest, work.resolve("disk.raw"));
    var qcow2 = Files.createDirectory(work.resolve("disk")).resolve("disk.qcow2");
    Tool.time("qemu-img", "convert", "-O", "qcow2", raw.toString(), qcow2.toString());
    var tar = work.resolve("layer.tar");
    Tool.time("tar", "-C", work.toString(), "-cf", tar.toString(), "disk");
    var diffId = sha256(tar);
    Tool.time("gzip", "-6", tar.toString());
    var blob = work.resolve("layer.tar.gz");
    var layer =
        new Layer(
            new Descriptor(MediaTypes.OCI_LAYER_GZIP, sha256(blob), Files.size(blob)), diffId);
    var image =
        PushedImage.push(
            work,
            registry,
            "ordinary",
            out -> {
              Files.copy(blob, out);
              return layer;
            });
    Files.delete(blob);
    return new OrdinaryImage(
        image, raw, qcow2, layer.descriptor().digest(), layer.descriptor().size());
  }

  private static Digest sha256(Path file) throws Exception {
    return Digest.parse("sha256:" + Tool.output("sha256sum", file.toString()).substring(0, 64));
  }

  private static Path disk(Path guest, Path disk) throws IOException {
    try (var from = FileChannel.open(guest);
        var to = FileChannel.open(disk, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      var piece = ByteBuffer.allocate(PIECE);
      for (var at = 0L; at < COPIES * from.size(); at += PIECE) {
        from.read(piece.clear(), at % from.size());
        if (change(piece.array(), (byte) (at / from.size()))) {
          to.write(piece.flip(), at);
        }
      }
      to.write(ByteBuffer.allocate(1), COPIES * from.size() - 1);
    }
    return disk;
  }

  /** False for zeros, which stay. */
  private static boolean change(byte[] bytes, byte key) {
    byte any = 0;
    for (var i = 0; i < bytes.length; i++) {
      any |= bytes[i];
      bytes[i] ^= key;
    }
    return any != 0;
  }

  /** The offset of some block of the disk that is not all zeros. */
  long dataBlock(Random random) throws IOException {
    try (var disk = FileChannel.open(raw)) {
      var block = ByteBuffer.allocate(PIECE);
      while (true) {
        var offset = random.nextLong(disk.size() / PIECE) * PIECE;
        disk.read(block.clear(), offset);
        if (change(block.array(), (byte) 0)) {
          return offset;
        }
      }
    }
  }
}
