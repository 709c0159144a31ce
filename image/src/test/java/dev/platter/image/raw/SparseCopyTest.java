package dev.platter.image.raw;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.testing.Digest;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SparseCopyTest {
  @TempDir Path dir;
  private Path source;
  private Path target;

  @BeforeEach
  void names() {
    source = dir.resolve("source.raw");
    target = dir.resolve("target.raw");
  }

  @Test
  void aSparseTebibyteIsCopiedInNoTimeAndStaysSparse() throws IOException {
    SparseFile.create(source, 1L << 40);
    Qemu.io(source, "raw", "write -P 1 0 64k", "write -P 2 512G 1M", "write -P 3 1023G 4k");
    long start = System.nanoTime();
    SparseCopy.copy(source, target, done -> {});
    assertThat((System.nanoTime() - start) / 1_000_000).isLessThan(1_000);
    Qemu.img("compare", "-s", "-f", "raw", "-F", "raw", source, target);
    assertThat(Files.size(target)).isEqualTo(1L << 40);
    assertThat(Qemu.allocated(target)).isLessThanOrEqualTo(1200 << 10);
  }

  @Test
  void whatAFileTakesOfItsFileSystemIsWhatQemuSays() throws IOException {
    SparseFile.create(source, 1L << 40);
    Qemu.io(source, "raw", "write -P 1 0 64k", "write -P 2 512G 1M", "write -P 3 1023G 4k");
    assertThat(SparseFile.onDisk(source)).isEqualTo(Qemu.allocated(source)).isPositive();
    Files.createSymbolicLink(target, source);
    assertThat(SparseFile.onDisk(target)).as("of the link itself").isLessThan(8192);
    assertThatThrownBy(() -> SparseFile.onDisk(dir.resolve("missing")))
        .isInstanceOf(NoSuchFileException.class);
  }

  @Test
  void bytesAreTheSameAtAnyLength() throws IOException {
    for (int size : new int[] {0, 1, 4095, 4096, 4097, (1 << 20) - 1, (3 << 20) + 777}) {
      Files.write(source, MixedBytes.of(size, size));
      SparseCopy.copy(source, target, done -> {});
      assertThat(Digest.ofFile(target)).isEqualTo(Digest.ofFile(source));
      Files.delete(target);
    }
  }

  @Test
  void zerosThatAreWrittenOutBecomeHoles() throws IOException {
    byte[] bytes = new byte[8 << 20];
    bytes[5 << 20] = 1;
    Files.write(source, bytes);
    assertThat(Qemu.allocated(source)).isGreaterThanOrEqualTo(8 << 20);
    if (SparseCopy.copy(source, target, done -> {}) == SparseCopy.Way.COPIED) {
      assertThat(Qemu.allocated(target)).isLessThanOrEqualTo(16 << 10);
    }
    assertThat(Digest.ofFile(target)).isEqualTo(Digest.ofFile(source));
  }

  @Test
  void progressGrowsToTheSize() throws IOException {
    Files.write(source, MixedBytes.of(5 << 20, 3));
    List<Long> seen = new ArrayList<>();
    SparseCopy.copy(source, target, seen::add);
    assertThat(seen).isSorted().endsWith(5L << 20);
  }

  @Test
  void aNameThatExistsIsLeftAlone() throws IOException {
    Files.write(source, new byte[10]);
    Files.writeString(target, "mine");
    assertThatThrownBy(() -> SparseCopy.copy(source, target, done -> {}))
        .isInstanceOf(FileAlreadyExistsException.class);
    assertThatThrownBy(() -> SparseFile.create(target, 5))
        .isInstanceOf(FileAlreadyExistsException.class);
    assertThat(target).hasContent("mine");
  }

  @Test
  void aMissingSourceLeavesNoTarget() {
    assertThatThrownBy(() -> SparseCopy.copy(source, target, done -> {}))
        .isInstanceOf(NoSuchFileException.class);
    assertThat(target).doesNotExist();
  }

  @Test
  void aCopyThatFailsLeavesNoTarget() throws IOException {
    Files.write(source, MixedBytes.of(3 << 20, 3));
    assertThatThrownBy(
            () ->
                SparseCopy.copy(
                    source,
                    target,
                    done -> {
                      throw new IllegalStateException("enough");
                    }))
        .hasMessage("enough");
    assertThat(target).doesNotExist();
  }

  @Test
  void aRangeLandsWhereItShould() throws IOException {
    byte[] bytes = MixedBytes.of(3 << 20, 4);
    Files.write(source, bytes);
    int from = 12_345;
    int length = 2_000_001;
    int to = 777;
    try (FileChannel in = FileChannel.open(source, READ);
        FileChannel out = FileChannel.open(target, CREATE_NEW, WRITE)) {
      SparseCopy.copyRange(in, from, length, out, to, done -> {});
    }
    byte[] copied = Files.readAllBytes(target);
    assertThat(copied).hasSize(to + length);
    assertThat(Arrays.mismatch(copied, to, to + length, bytes, from, from + length)).isEqualTo(-1);
  }

  @Test
  void sparseFileHasItsSizeAndNoBlocks() throws IOException {
    SparseFile.create(target, (10L << 30) + 1);
    assertThat(Files.size(target)).isEqualTo((10L << 30) + 1);
    assertThat(Qemu.allocated(target)).isZero();
  }

  @Test
  void onlyBlocksThatAreNotZeroAreWritten() throws IOException {
    ByteBuffer bytes = ByteBuffer.allocateDirect(64 << 10);
    bytes.put(0, (byte) 1).put(20_000, (byte) 2).put(65_535, (byte) 3);
    SparseFile.create(target, 1 << 20);
    try (FileChannel out = FileChannel.open(target, WRITE)) {
      SparseWriter.write(out, bytes, 128 << 10);
    }
    assertThat(bytes.hasRemaining()).isFalse();
    assertThat(Qemu.allocated(target)).isEqualTo(3 * 4096);
    byte[] seen = Files.readAllBytes(target);
    assertThat(seen[128 << 10]).isEqualTo((byte) 1);
    assertThat(seen[(128 << 10) + 20_000]).isEqualTo((byte) 2);
    assertThat(seen[(192 << 10) - 1]).isEqualTo((byte) 3);
  }
}
