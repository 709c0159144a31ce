package dev.platter.image.raw;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.testing.Loop;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RawTargetTest {
  @TempDir Path dir;

  @Test
  void aDeviceThatCannotBeMadeBlankIsSentItsZeros() throws IOException {
    int size = 3_000_000;
    byte[] disk = new byte[size];
    byte[] data = MixedBytes.of(1_000_001, 3);
    System.arraycopy(data, 0, disk, 1_000_000, data.length);
    try (Loop loop = new Loop(dir, "4M")) {
      Qemu.io(loop.device(), "raw", "write -P 255 0 4M");
      try (RawTarget target =
          new DeviceTarget(NativeFile.openDevice(loop.device()), false, false)) {
        target.begin(size);
        target.zero(0, 1_000_000);
        target.write(direct(data), 1_000_000);
        target.zero(2_000_001, 100);
        target.zero(2_000_101, size - 2_000_101);
        target.force();
      }
      byte[] seen = Files.readAllBytes(loop.device());
      assertThat(Arrays.mismatch(disk, Arrays.copyOf(seen, size))).isEqualTo(-1);
      assertThat(seen[size]).isEqualTo((byte) -1);
    }
  }

  /** A disk behind it takes no room for zeros that it has already. */
  @Test
  void aDeviceThatReadAsZerosIsNotSentThem() throws IOException {
    byte[] data = MixedBytes.of(1 << 20, 3);
    try (Loop loop = new Loop(dir, "64M")) {
      try (RawTarget target = new DeviceTarget(NativeFile.openDevice(loop.device()), false, true)) {
        target.beginBlank(64 << 20);
        target.write(direct(data), 1 << 20);
        target.zero(8 << 20, 8 << 20);
        target.force();
      }
      assertThat(Qemu.allocated(dir.resolve("loop.img"))).isLessThan(2 << 20);
      byte[] seen = Files.readAllBytes(loop.device());
      assertThat(Arrays.copyOfRange(seen, 1 << 20, 2 << 20)).isEqualTo(data);
    }
  }

  @Test
  void aFileThatEndsUnderAMappingIsAnErrorAndNoCrash() throws IOException {
    Path file = Files.write(dir.resolve("file"), MixedBytes.of(4 << 20, 4));
    try (NativeFile source = NativeFile.open(file);
        RawTarget target = RawTarget.create(dir.resolve("target"));
        Arena arena = Arena.ofConfined()) {
      target.begin(4 << 20);
      ByteBuffer mapped = source.map(0, 4 << 20, arena).asByteBuffer();
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.truncate(0);
      }
      assertThatThrownBy(() -> target.write(mapped, 0)).isInstanceOf(InternalError.class);
    }
  }

  @Test
  void zerosAreFoundWhereverAByteIsNot() {
    findsZeros(MemorySegment.ofArray(new byte[100]));
  }

  @Test
  void zerosAreFoundInAMappedFile() throws IOException {
    Path file = Files.write(dir.resolve("file"), new byte[100]);
    try (FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        Arena arena = Arena.ofConfined()) {
      findsZeros(channel.map(FileChannel.MapMode.READ_WRITE, 0, 100, arena));
    }
  }

  private static void findsZeros(MemorySegment bytes) {
    for (int from : new int[] {0, 1, 31, 40}) {
      for (int to = from; to <= bytes.byteSize(); to++) {
        assertThat(SparseWriter.isZero(bytes, from, to)).isTrue();
        for (int at = 0; at < bytes.byteSize(); at++) {
          bytes.set(JAVA_BYTE, at, (byte) 1);
          assertThat(SparseWriter.isZero(bytes, from, to)).isEqualTo(at < from || at >= to);
          bytes.set(JAVA_BYTE, at, (byte) 0);
        }
      }
    }
  }

  private static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }
}
