package dev.platter.image.qcow2;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.testing.Digest;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every kind of image that qemu-img can make reads as qemu-img reads it. */
class Qcow2ReaderTest {
  @TempDir Path dir;
  private Path image;

  @BeforeEach
  void name() {
    image = dir.resolve("disk.qcow2");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "compat=0.10",
        "compat=1.1",
        "compat=0.10,cluster_size=512",
        "compat=1.1,cluster_size=512",
        "cluster_size=1k",
        "cluster_size=2k",
        "cluster_size=4k",
        "cluster_size=8k",
        "cluster_size=16k",
        "cluster_size=32k",
        "cluster_size=64k",
        "cluster_size=128k",
        "cluster_size=256k",
        "cluster_size=512k",
        "cluster_size=1M",
        "cluster_size=2M",
        "extended_l2=on",
        "extended_l2=on,cluster_size=16k",
        "extended_l2=on,cluster_size=128k,compression_type=zstd",
        "extended_l2=on,cluster_size=2M",
        "compression_type=zlib",
        "compression_type=zstd",
        "compression_type=zstd,cluster_size=512",
        "compression_type=zstd,cluster_size=2M",
        "lazy_refcounts=on",
        "refcount_bits=1",
        "refcount_bits=64",
        "preallocation=metadata",
        "preallocation=falloc",
        "preallocation=full",
        "preallocation=metadata,extended_l2=on"
      })
  void imageWithTheseOptionsReadsAsQemuReadsIt(String options) throws IOException {
    // 512 bytes short of a cluster boundary of every size: the last cluster is partial.
    Qemu.img("create", "-f", "qcow2", "-o", options, image, 20 * 1024 * 1024 - 512);
    scribble(!options.contains("preallocation"), !options.contains("0.10"));
    SameAsQemu.check(image);
  }

  /** All ways to change a disk, with neighbours that join and neighbours that do not. */
  private void scribble(boolean fresh, boolean zeroFlag) {
    List<String> commands = new ArrayList<>();
    if (fresh) {
      // Only a cluster that was never written can be written compressed.
      commands.add("write -c -P 17 2M 2M");
      commands.add("write -c -P 0 4M 2M");
      commands.add("write -c -P 18 6M 2M");
    }
    commands.add("write -P 1 0 3k");
    commands.add("write -P 2 100k 700k");
    commands.add("write -P 3 1023k 2k");
    commands.add("write -P 0 10M 1M");
    commands.add("write -P 4 12M 3M");
    commands.add(zeroFlag ? "write -z 12400k 300k" : "write -P 0 12400k 300k");
    commands.add(zeroFlag ? "write -zu 13M 512k" : "write -P 0 13M 512k");
    commands.add(zeroFlag ? "write -z 16M 1M" : "write -P 0 16M 1M");
    commands.add("discard 14M 512k");
    commands.add("write -P 5 14100k 5k");
    commands.add("write -P 6 20970496 512");
    Qemu.io(image, "qcow2", commands.toArray(String[]::new));
  }

  @ParameterizedTest
  @ValueSource(strings = {"zlib", "zstd"})
  void compressedByConvertReadsAsQemuReadsIt(String type) throws IOException {
    for (String cluster : List.of("512", "4k", "64k", "2M")) {
      Path raw = dir.resolve("in.raw");
      Files.write(raw, MixedBytes.of(9_000_448, 7));
      Path packed = dir.resolve(cluster + ".qcow2");
      String options = "cluster_size=" + cluster + ",compression_type=" + type;
      Qemu.img("convert", "-c", "-f", "raw", "-O", "qcow2", "-o", options, raw, packed);
      SameAsQemu.check(packed);
    }
  }

  @Test
  void compressedByConvertWithManyCoroutinesOutOfOrderReadsAsQemuReadsIt() throws IOException {
    Path raw = dir.resolve("in.raw");
    Files.write(raw, MixedBytes.of(9_000_448, 8));
    Qemu.img("convert", "-c", "-m", "16", "-W", "-f", "raw", "-O", "qcow2", raw, image);
    SameAsQemu.check(image);
  }

  @Test
  void internalSnapshotsAreIgnored() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "8M");
    Qemu.io(image, "qcow2", "write -P 1 0 1M", "write -c -P 3 4M 64k");
    Qemu.img("snapshot", "-c", "before", image);
    Qemu.io(image, "qcow2", "write -P 2 512k 1M", "write -z 128k 64k");
    Qemu.img("snapshot", "-c", "after", image);
    Qemu.io(image, "qcow2", "write -P 4 0 64k");
    SameAsQemu.check(image);
  }

  @Test
  void grownAndShrunkImagesHaveTheirNewSize() throws IOException {
    Qemu.img("create", "-f", "qcow2", "-o", "cluster_size=4k", image, "4M");
    Qemu.io(image, "qcow2", "write -P 1 0 4M");
    Qemu.img("resize", "-q", image, "9M");
    Qemu.io(image, "qcow2", "write -P 2 8M 1M");
    SameAsQemu.check(image);
    Qemu.img("resize", "-q", "--shrink", image, "1537K");
    SameAsQemu.check(image);
  }

  @Test
  void imageMarkedDirtyIsReadable() throws IOException {
    Qemu.img("create", "-f", "qcow2", "-o", "lazy_refcounts=on", image, "1M");
    Qemu.ioTolerant(image, "qcow2", "write -P 1 0 128k", "flush", "abort");
    assertThat(Files.readAllBytes(image)[79] & 1).isEqualTo(1);
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT)) {
      ByteBuffer all = ByteBuffer.allocate(1 << 20);
      assertThat(reader.read(0, all)).isEqualTo(1 << 20);
      assertThat(all.get(0)).isEqualTo((byte) 1);
      assertThat(all.get((128 << 10) - 1)).isEqualTo((byte) 1);
      assertThat(all.get(128 << 10)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 512, 65536, 66048})
  void smallDisksReadAsQemuReadsThem(long size) throws IOException {
    Qemu.img("create", "-f", "qcow2", image, size);
    if (size > 0) {
      Qemu.io(image, "qcow2", "write -P 9 0 512", "write -P 7 " + (size - 512) + " 512");
    }
    SameAsQemu.check(image);
  }

  @Test
  void aSparseTebibyteIsCopiedAtOnceAndStaysSparse() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "1T");
    Qemu.io(image, "qcow2", "write -P 1 0 64k", "write -P 2 1099511562240 64k");
    Path raw = dir.resolve("disk.raw");
    long start = System.nanoTime();
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        FileChannel out = FileChannel.open(raw, CREATE_NEW, WRITE)) {
      reader.copyTo(out, done -> {});
    }
    assertThat((System.nanoTime() - start) / 1_000_000).isLessThan(2_000);
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", image, raw);
    assertThat(Qemu.allocated(raw)).isLessThanOrEqualTo(256 << 10);
  }

  @Test
  void zerosThatAreWrittenOutBecomeHoles() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "16M");
    Qemu.io(image, "qcow2", "write -P 0 0 8M", "write -c -P 0 8M 4M", "write -P 1 4M 4k");
    Path raw = dir.resolve("disk.raw");
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        FileChannel out = FileChannel.open(raw, CREATE_NEW, WRITE)) {
      reader.copyTo(out, done -> {});
    }
    assertThat(Qemu.allocated(raw)).isLessThanOrEqualTo(32 << 10);
  }

  @Test
  void progressGrowsToTheSizeOfTheDisk() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "33M");
    List<Long> seen = new ArrayList<>();
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        FileChannel out = FileChannel.open(dir.resolve("disk.raw"), CREATE_NEW, WRITE)) {
      reader.copyTo(out, seen::add);
    }
    assertThat(seen).isSorted().hasSizeGreaterThan(1).endsWith(33L << 20);
  }

  @Test
  void aTargetThatHoldsSomethingElseIsNotOverwritten() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "1M");
    Path raw = Files.write(dir.resolve("disk.raw"), new byte[5]);
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        FileChannel out = FileChannel.open(raw, WRITE)) {
      assertThatThrownBy(() -> reader.copyTo(out, done -> {}))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void damageFoundWhileCopyingIsReported() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "64M");
    Qemu.io(image, "qcow2", "write -P 1 0 60M", "write -c -P 3 60M 64k");
    byte[] bytes = Files.readAllBytes(image);
    Arrays.fill(bytes, bytes.length - 20, bytes.length, (byte) -1);
    Files.write(image, bytes);
    List<Long> seen = new ArrayList<>();
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        FileChannel out = FileChannel.open(dir.resolve("disk.raw"), CREATE_NEW, WRITE)) {
      assertThatThrownBy(() -> reader.copyTo(out, seen::add))
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining("does not unpack");
    }
    assertThat(seen).doesNotContain(64L << 20);
  }

  @Test
  void manyThreadsReadTheSame() throws Exception {
    Path raw = Files.write(dir.resolve("in.raw"), MixedBytes.of(4 << 20, 9));
    Qemu.img("convert", "-c", "-f", "raw", "-O", "qcow2", raw, image);
    String expected = Digest.ofFile(raw);
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT);
        var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<String>> digests = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        int piece = 10_007 * (i + 1);
        digests.add(pool.submit(() -> Digest.of(reader::read, piece)));
      }
      for (Future<String> digest : digests) {
        assertThat(digest.get()).isEqualTo(expected);
      }
    }
  }

  @Test
  void readPastTheEndSaysSo() throws IOException {
    Qemu.img("create", "-f", "qcow2", image, "1M");
    try (Qcow2Reader reader = Qcow2Reader.open(image, Limits.DEFAULT)) {
      assertThat(reader.read(1 << 20, ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(reader.read((1 << 20) - 3, ByteBuffer.allocate(9))).isEqualTo(3);
    }
  }

  @Test
  void headerCheckTellsVersionSizeAndClusterSize() throws IOException {
    Qemu.img("create", "-f", "qcow2", "-o", "compat=0.10,cluster_size=4k", image, "3M");
    assertThat(Qcow2Reader.checkHeader(image, Limits.DEFAULT))
        .isEqualTo(new Qcow2Info(2, 3 << 20, 4096));
  }
}
