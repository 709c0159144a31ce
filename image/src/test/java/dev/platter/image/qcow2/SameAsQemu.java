package dev.platter.image.qcow2;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.testing.Digest;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads an image with our reader and with qemu-img, and wants the same disk from both. */
final class SameAsQemu {
  private SameAsQemu() {}

  static void check(Path image) throws IOException {
    Path theirs = image.resolveSibling(image.getFileName() + ".theirs");
    Path ours = image.resolveSibling(image.getFileName() + ".ours");
    Qemu.img("convert", "-t", "unsafe", "-f", "qcow2", "-O", "raw", image, theirs);
    String expected = Digest.ofFile(theirs);
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT)) {
      try (FileChannel out = FileChannel.open(ours, CREATE_NEW, WRITE)) {
        reader.copyTo(out, done -> {});
      }
      assertThat(Files.size(ours)).isEqualTo(reader.virtualSize()).isEqualTo(Files.size(theirs));
      assertThat(Digest.ofFile(ours)).as("copy of %s", image).isEqualTo(expected);
      // A size that is prime: every kind of boundary is crossed at every phase.
      assertThat(Digest.of(reader::read, 100_003)).as("reads of %s", image).isEqualTo(expected);
    }
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", image, ours);
    Files.delete(theirs);
    Files.delete(ours);
  }
}
