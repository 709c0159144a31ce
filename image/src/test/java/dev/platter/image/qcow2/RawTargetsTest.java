package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.ForeignTool;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.testing.Loop;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Images written onto devices and into file systems that share blocks. */
class RawTargetsTest {
  private static final int SIZE = (24 << 20) - 512;

  private static final int REST = (25 << 20) - SIZE;

  @TempDir Path dir;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "cluster_size=64k",
        "cluster_size=512",
        "cluster_size=2M",
        "extended_l2=on",
        "compression_type=zlib",
        "compression_type=zstd"
      })
  void nothingOfWhatADeviceHeldIsLeft(String options) throws IOException {
    Path image = image(dir, options);
    for (String sector : new String[] {"512", "4096"}) {
      try (Loop loop = new Loop(dir, "25M", "--sector-size", sector)) {
        fill(loop.device());
        copy(image, RawTarget.device(loop.device()));
        compare(image, loop.device());
        ForeignTool.sh(
            dir, "cmp -n " + REST + " -i " + SIZE + ":0 " + loop.device() + " " + after());
      }
    }
  }

  @Test
  void aDeviceThatIsTooSmallIsNotTouched() throws IOException {
    Path image = image(dir, "cluster_size=64k");
    try (Loop loop = new Loop(dir, "23M")) {
      fill(loop.device());
      assertThatThrownBy(() -> copy(image, RawTarget.device(loop.device())))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("the device has 24117248 bytes");
      assertThat(ForeignTool.sh(dir, "tr -d '\\377' <" + loop.device() + " | wc -c"))
          .isEqualTo("0\n");
    }
  }

  @Test
  void aFileIsNoDevice() throws IOException {
    Path file = Files.write(dir.resolve("file"), new byte[1 << 20]);
    assertThatThrownBy(() -> RawTarget.device(file))
        .isInstanceOf(FileSystemException.class)
        .hasMessageContaining("not a block device");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "cluster_size=64k",
        "cluster_size=4k",
        "cluster_size=512",
        "extended_l2=on",
        "compression_type=zlib"
      })
  void onXfsTheBytesAreTheSame(String options) throws IOException {
    try (Loop loop = new Loop(dir, "400M")) {
      Path xfs = loop.mountXfs();
      Path image = image(xfs, options);
      Path raw = xfs.resolve("disk.raw");
      copy(image, RawTarget.create(raw));
      compare(image, raw);
      assertThat(Files.size(raw)).isEqualTo(SIZE);
    }
  }

  @Test
  void onXfsAllButCompressedClustersAreShared() throws IOException {
    try (Loop loop = new Loop(dir, "400M")) {
      Path xfs = loop.mountXfs();
      Path image = image(xfs, "cluster_size=64k");
      Path raw = xfs.resolve("disk.raw");
      copy(image, RawTarget.create(raw));
      compare(image, raw);
      ForeignTool.run(xfs, "sync", "-f", raw.toString());
      String extents = ForeignTool.run(xfs, "filefrag", "-v", raw.toString());
      long all = extents.lines().filter(line -> line.matches(" *\\d+:.*")).count();
      // The last cluster ends in the middle of a block.
      assertThat(extents.lines().filter(line -> line.contains("shared")).count())
          .as(extents)
          .isGreaterThan(10)
          .isGreaterThanOrEqualTo(all - 5);
      // What is written to one is not seen in the other.
      ForeignTool.run(xfs, "cp", image.toString(), "before.qcow2");
      Qemu.io(raw, "raw", "write -P 77 0 " + SIZE);
      compare(xfs.resolve("before.qcow2"), image, "qcow2");
    }
  }

  /**
   * Small clusters may start in the middle of a block. One of eight does so at the same place of a
   * block in both files: its whole blocks are shared, what is before and after them is not.
   */
  @Test
  void onXfsWhatDoesNotFillBlocksIsCopied() throws IOException {
    try (Loop loop = new Loop(dir, "400M")) {
      Path xfs = loop.mountXfs();
      Path image = xfs.resolve("disk.qcow2");
      Path raw = xfs.resolve("disk.raw");
      int shared = 0;
      for (int before = 1; before <= 8; before++) {
        Qemu.img("create", "-f", "qcow2", "-o", "cluster_size=512", image, SIZE);
        Qemu.io(
            image,
            "qcow2",
            "write -P 6 20992 " + 512 * before,
            "write -P 7 " + 3 * 512 + " 10k",
            "write -P 8 4M 2k");
        copy(image, RawTarget.create(raw));
        compare(image, raw);
        ForeignTool.run(xfs, "sync", "-f", raw.toString());
        shared += ForeignTool.run(xfs, "filefrag", "-v", raw.toString()).contains("shared") ? 1 : 0;
        Files.delete(image);
        Files.delete(raw);
      }
      assertThat(shared).isEqualTo(1);
    }
  }

  @Test
  void onXfsWhatIsSharedIsDoneAtOnce() throws IOException {
    try (Loop loop = new Loop(dir, "400M")) {
      Path xfs = loop.mountXfs();
      Path image = xfs.resolve("disk.qcow2");
      Qemu.img("create", "-f", "qcow2", image, "1100M");
      Qemu.io(
          image, "qcow2", "write -P 1 1M 33M", "write -P 2 1060M 9M", "write -c -P 3 1080M 64k");
      Path raw = xfs.resolve("disk.raw");
      List<Long> seen = new ArrayList<>();
      try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
          RawTarget target = RawTarget.create(raw)) {
        reader.copyTo(target, seen::add);
      }
      Qemu.img("compare", "-f", "raw", "-F", "qcow2", raw, image);
      assertThat(seen).startsWith(1L << 30).isSorted().endsWith(1100L << 20);
    }
  }

  @Test
  void anImageCutOffWhileItIsCopiedIsAnError() throws IOException {
    Path image = dir.resolve("disk.qcow2");
    Qemu.img("create", "-f", "qcow2", "-o", "preallocation=full", image, "256M");
    Qemu.io(image, "qcow2", "write -P 1 0 256M");
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        RawTarget target = RawTarget.create(dir.resolve("disk.raw"))) {
      assertThatThrownBy(() -> reader.copyTo(target, done -> cut(image)))
          .isInstanceOf(IOException.class);
    }
  }

  private static void cut(Path file) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(8 << 20);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void copy(Path image, RawTarget to) throws IOException {
    try (RawTarget target = to;
        Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT)) {
      reader.copyTo(target, done -> {});
      target.force();
    }
  }

  /** As many kinds of clusters as the options allow, and a size that is odd for 4 KiB sectors. */
  private static Path image(Path dir, String options) throws IOException {
    Path image = dir.resolve("disk.qcow2");
    if (options.contains("compression")) {
      Path raw = Files.write(dir.resolve("in.raw"), MixedBytes.of(SIZE, 6));
      Qemu.img("convert", "-c", "-f", "raw", "-O", "qcow2", "-o", options, raw, image);
      Qemu.io(image, "qcow2", "write -P 3 4000k 300k", "write -P 0 5M 64k");
    } else {
      Qemu.img("create", "-f", "qcow2", "-o", options, image, SIZE);
      Qemu.io(
          image,
          "qcow2",
          "write -P 1 0 2M",
          "write -P 2 5M 700k",
          "write -P 0 5200k 100k",
          "write -P 3 9M 3k",
          "write -c -P 4 12M 2M",
          "write -z 5300k 64k",
          "write -P 5 14M 8M",
          "write -P 6 " + (SIZE - 1024) + " 1024");
      for (int i = 0; i < 20; i++) {
        Qemu.io(image, "qcow2", "write -P " + (10 + i) + " " + (15000 - 100 * i) + "k 64k");
      }
    }
    return image;
  }

  /** What a device holds behind the disk. */
  private Path after() throws IOException {
    byte[] old = new byte[REST];
    Arrays.fill(old, (byte) -1);
    return Files.write(dir.resolve("after"), old);
  }

  private static void fill(Path device) throws IOException {
    Qemu.io(device, "raw", "write -P 255 0 " + size(device));
  }

  private static String size(Path device) throws IOException {
    return ForeignTool.run(Path.of("/"), "blockdev", "--getsize64", device.toString()).strip();
  }

  /** Only the disk: a device may be longer, and qemu-img then looks for zeros behind it. */
  private void compare(Path image, Path raw) throws IOException {
    Path seen = dir.resolve("seen.raw");
    ForeignTool.run(dir, "dd", "if=" + raw, "of=" + seen, "bs=512", "count=" + SIZE / 512);
    compare(seen, image, "raw");
    Files.delete(seen);
  }

  private static void compare(Path one, Path image, String format) {
    Qemu.img("compare", "-f", format, "-F", "qcow2", one, image);
  }
}
