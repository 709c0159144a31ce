package dev.platter.image.qcow2;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.BadImageException;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.raw.SparseFile;
import dev.platter.image.raw.SparseWriter;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** QEMU finds the same disk in what we wrote, and finds it where the order puts it. */
class OrderedQcow2Test {
  private static final int BLOCK = OrderedQcow2.BLOCK;

  @TempDir Path dir;

  private OrderedQcow2 write(Path raw, Path target, long... order) throws IOException {
    try (RawDisk disk = RawDisk.open(raw);
        FileChannel file = FileChannel.open(target, CREATE_NEW, WRITE)) {
      OrderedQcow2 ordered = OrderedQcow2.plan(disk, order);
      ordered.writeTo(new SparseStream(file));
      SparseWriter.extend(file, ordered.size());
      assertThat(Files.size(target)).isEqualTo(ordered.size());
      return ordered;
    }
  }

  /** Keeps large test files small. */
  private static final class SparseStream extends OutputStream {
    private final FileChannel file;
    private long at;

    SparseStream(FileChannel file) {
      this.file = file;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int start, int length) throws IOException {
      SparseWriter.write(file, ByteBuffer.wrap(bytes, start, length), at);
      at += length;
    }
  }

  private static void assertSameDisk(Path qcow2, Path raw) {
    assertThat(Qemu.img("check", "-f", "qcow2", qcow2)).contains("No errors were found");
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", qcow2, raw);
  }

  private Path mixed(int size) throws IOException {
    return Files.write(dir.resolve("disk.raw"), MixedBytes.of(size, size));
  }

  @ParameterizedTest
  @ValueSource(ints = {512, 1000, 65536, 65537, (1 << 20) + 512, 20 << 20})
  void diskOfAnySizeIsCleanAndTheSame(int size) throws IOException {
    Path raw = mixed(size);
    Path qcow2 = dir.resolve("disk.qcow2");
    OrderedQcow2 ordered = write(raw, qcow2);
    assertSameDisk(qcow2, raw);
    assertThat(ordered.virtualSize()).isEqualTo((size + 511) / 512 * 512);
    SameAsQemu.check(qcow2);
  }

  @ParameterizedTest
  @ValueSource(longs = {512, 1L << 29, (1L << 29) + 512, 100L << 30, 1L << 40})
  void sparseDiskTakesTheTimeOfItsData(long size) throws IOException {
    Path raw = dir.resolve("sparse.raw");
    SparseFile.create(raw, size);
    try (FileChannel file = FileChannel.open(raw, WRITE)) {
      file.write(ByteBuffer.wrap(new byte[] {1}), 0);
      file.write(ByteBuffer.wrap(new byte[] {2}), size / 2);
      file.write(ByteBuffer.wrap(new byte[] {3}), size - 1);
    }
    Path qcow2 = dir.resolve("sparse.qcow2");
    Assertions.assertTimeout(
        Duration.ofSeconds(20), () -> write(raw, qcow2, size / BLOCK, size / 2 / BLOCK, 12345, 0));
    assertSameDisk(qcow2, raw);
    assertThat(Files.size(qcow2)).isLessThanOrEqualTo(10 * BLOCK);
    // The same through qcow2, whose empty tables must not be read as data either.
    Path again = dir.resolve("again.qcow2");
    try (Qcow2Reader disk = Qcow2Reader.open(qcow2, Limits.DEFAULT);
        OutputStream out = Files.newOutputStream(again)) {
      OrderedQcow2.plan(disk, size / BLOCK, size / 2 / BLOCK, 0).writeTo(out);
    }
    assertThat(again).hasSameBinaryContentAs(qcow2);
  }

  @Test
  void emptyDiskHasNoDataClusters() throws IOException {
    Path raw = dir.resolve("empty.raw");
    SparseFile.create(raw, 1 << 30);
    OrderedQcow2 ordered = write(raw, dir.resolve("empty.qcow2"), 0, 1);
    assertSameDisk(dir.resolve("empty.qcow2"), raw);
    assertThat(ordered.bootPrefix()).isEqualTo(ordered.size()).isEqualTo(4 * BLOCK);
  }

  @Test
  void bootOrderIsTheOrderInTheFileThenTheRestByAddress() throws IOException {
    byte[] bytes = new byte[100 * BLOCK];
    new Random(1).nextBytes(bytes);
    Path raw = Files.write(dir.resolve("disk.raw"), bytes);
    Path qcow2 = dir.resolve("disk.qcow2");
    // Repeated, outside and negative numbers are passed over.
    OrderedQcow2 ordered = write(raw, qcow2, 70, 3, 71, 3, 70, 5000, -1, Long.MAX_VALUE, 0);
    assertSameDisk(qcow2, raw);

    List<Long> expected = new ArrayList<>(List.of(70L, 3L, 71L, 0L));
    LongStream.range(0, 100).filter(b -> !expected.contains(b)).forEach(expected::add);
    long firstData = ordered.size() - 100L * BLOCK;
    assertThat(guestBlocksInOrderOfTheFile(qcow2, firstData)).isEqualTo(expected);
    assertThat(ordered.bootPrefix()).isEqualTo(firstData + 4L * BLOCK);
  }

  /** As qemu-img map tells it. */
  private static List<Long> guestBlocksInOrderOfTheFile(Path qcow2, long firstData)
      throws IOException {
    JsonNode map = new ObjectMapper().readTree(Qemu.img("map", "--output=json", qcow2));
    Long[] blocks = new Long[100];
    for (JsonNode extent : map) {
      for (long at = 0; at < extent.get("length").asLong(); at += BLOCK) {
        long place = (extent.get("offset").asLong() + at - firstData) / BLOCK;
        blocks[(int) place] = (extent.get("start").asLong() + at) / BLOCK;
      }
    }
    return List.of(blocks);
  }

  @Test
  void anyOrderGivesTheSameDisk() throws IOException {
    Path raw = mixed(30 << 20);
    Random random = new Random(4);
    long[] order = IntStream.range(0, 300).mapToLong(_ -> random.nextInt(480)).toArray();
    write(raw, dir.resolve("disk.qcow2"), order);
    assertSameDisk(dir.resolve("disk.qcow2"), raw);
  }

  @ParameterizedTest
  @ValueSource(strings = {"512", "4k", "64k", "2M"})
  void qcow2OfAnyClusterSizeCompressedOrNotGivesTheSameFile(String clusterSize) throws IOException {
    Path raw = mixed((5 << 20) + 512);
    Path expected = dir.resolve("expected.qcow2");
    write(raw, expected, 3, 1);
    for (String compressed : new String[] {"", "-c"}) {
      Path source = dir.resolve("source" + compressed);
      List<Object> convert = new ArrayList<>(List.of("convert", "-f", "raw", "-O", "qcow2"));
      convert.addAll(List.of("-o", "cluster_size=" + clusterSize));
      if (!compressed.isEmpty()) {
        convert.add(compressed);
      }
      convert.addAll(List.of(raw, source));
      Qemu.img(convert.toArray());
      Path target = dir.resolve("target" + compressed);
      try (Qcow2Reader disk = Qcow2Reader.open(source, Limits.DEFAULT);
          OutputStream out = Files.newOutputStream(target)) {
        OrderedQcow2.plan(disk, 3, 1).writeTo(out);
      }
      assertThat(target).hasSameBinaryContentAs(expected);
    }
  }

  /** More clusters than one refcount block counts, and more than one L2 table maps. */
  @Test
  void refcountsOfALargeFileAreRight() throws IOException {
    Path raw = dir.resolve("large.raw");
    int blocks = 33_000;
    SparseFile.create(raw, (long) blocks * BLOCK);
    try (FileChannel file = FileChannel.open(raw, WRITE)) {
      for (int i = 0; i < blocks; i++) {
        file.write(ByteBuffer.wrap(new byte[] {1}), (long) i * BLOCK);
      }
    }
    Path qcow2 = dir.resolve("large.qcow2");
    write(raw, qcow2);
    assertSameDisk(qcow2, raw);
  }

  @Test
  void diskWithoutBytesIsRefused() throws IOException {
    Path raw = Files.createFile(dir.resolve("none.raw"));
    assertThatThrownBy(() -> write(raw, dir.resolve("none.qcow2")))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("a disk of 0 bytes");
  }
}
