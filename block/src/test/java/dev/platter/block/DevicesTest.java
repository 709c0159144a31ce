package dev.platter.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.Extent.Kind;
import dev.platter.image.raw.SparseFile;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Memory and file behave as the same disk, and a file's space is what stat says. */
class DevicesTest {
  private static final int SIZE = 3 * (1 << 20) + 5;
  private static final byte[] ZEROS = new byte[SIZE];

  @TempDir Path directory;

  private Path blank(long size) throws IOException {
    Path path = directory.resolve("disk.raw");
    SparseFile.create(path, size);
    return path;
  }

  @Test
  void randomRequestsLeaveTheSameBytesInMemoryInAFileAndInAnArray() throws IOException {
    Path path = blank(SIZE);
    var random = new Random(11);
    byte[] model = new byte[SIZE];
    try (var memory = new MemoryDevice(SIZE);
        var file = FileDevice.openToWrite(path)) {
      for (int i = 0; i < 500; i++) {
        int at = random.nextInt(SIZE);
        int length = Math.min(SIZE - at, 1 + random.nextInt(1 << (1 + random.nextInt(20))));
        if (random.nextBoolean()) {
          byte[] noise = new byte[length];
          random.nextBytes(noise);
          System.arraycopy(noise, 0, model, at, length);
          memory.write(at, ByteBuffer.wrap(noise));
          file.write(at, ByteBuffer.wrap(noise));
        } else {
          Arrays.fill(model, at, at + length, (byte) 0);
          boolean mayTrim = random.nextBoolean();
          memory.zero(at, length, mayTrim);
          file.zero(at, length, mayTrim);
        }
        assertHolesAreZero(memory, model);
        assertHolesAreZero(file, model);
      }
      file.flush();
      ByteBuffer inMemory = ByteBuffer.allocate(SIZE);
      memory.read(0, inMemory);
      assertThat(inMemory.array()).isEqualTo(model);
    }
    assertThat(path).hasBinaryContent(model);
  }

  private static void assertHolesAreZero(BlockDevice device, byte[] model) throws IOException {
    int at = 0;
    for (Extent extent : device.extents(0, SIZE)) {
      int end = at + (int) extent.length();
      if (extent.isHole()) {
        assertThat(Arrays.mismatch(model, at, end, ZEROS, 0, end - at)).isNegative();
      }
      at = end;
    }
    assertThat(at).isEqualTo(SIZE);
  }

  @Test
  void aFileGivesBackWhatIsTrimmedAndKeepsWhatIsOnlyZeroed() throws IOException {
    int mib = 1 << 20;
    Path path = blank(8 * mib);
    try (var device = FileDevice.openToWrite(path)) {
      device.write(0, ByteBuffer.wrap(new byte[8 * mib]));
      device.flush();
      long full = allocated(path);
      device.zero(0, 2 * mib, false);
      assertThat(allocated(path)).isEqualTo(full);
      device.zero(2 * mib, 2 * mib, true);
      device.trim(4 * mib, mib);
      assertThat(allocated(path)).isLessThanOrEqualTo(full - 3 * mib);
      assertThat(device.extents(2 * mib, 6 * mib))
          .containsExactly(new Extent(3 * mib, Kind.HOLE), new Extent(3 * mib, Kind.DATA));
    }
    assertThat(Files.size(path)).isEqualTo(8 * mib);
  }

  @Test
  void extentsOfAPartAreCutToIt() throws IOException {
    Path path = blank(1 << 20);
    try (var file = FileDevice.openToWrite(path);
        var memory = new MemoryDevice(1 << 20)) {
      for (BlockDevice device : List.of(file, memory)) {
        device.write(1 << 16, ByteBuffer.wrap(new byte[1 << 16]));
        device.flush();
        assertThat(device.extents(10, 100)).containsExactly(new Extent(100, Kind.HOLE));
        assertThat(device.extents((1 << 16) - 1, 3))
            .containsExactly(new Extent(1, Kind.HOLE), new Extent(2, Kind.DATA));
        assertThat(device.extents(0, 1 << 20))
            .containsExactly(
                new Extent(1 << 16, Kind.HOLE),
                new Extent(1 << 16, Kind.DATA),
                new Extent((1 << 20) - (1 << 17), Kind.HOLE));
      }
    }
  }

  @Test
  void aFileOfManyRunsIsToldInParts() throws IOException {
    long size = 4096L * 2 * 3000;
    Path path = blank(size);
    try (var device = FileDevice.openToWrite(path)) {
      for (int i = 0; i < 3000; i++) {
        device.write(4096L * 2 * i, ByteBuffer.wrap(new byte[] {1}));
      }
      device.flush();
      List<Extent> first = device.extents(0, size);
      assertThat(first.size()).isBetween(2, BlockDevice.MOST_EXTENTS);
    }
  }

  /**
   * The kernel begins to read what it does not have, and looks once more: a storage that answers
   * while this thread is held up has been in time. It is not in time again and again.
   */
  @Test
  void whatIsNotInMemoryIsNotWaitedFor() throws IOException {
    byte[] noise = new byte[1 << 20];
    new Random(3).nextBytes(noise);
    Path path = Files.write(directory.resolve("cold.raw"), noise);
    ByteBuffer wanted = ByteBuffer.wrap(noise, 500_000, 8_000).slice();
    try (var device = FileDevice.openReadOnly(path)) {
      ByteBuffer bytes = ByteBuffer.allocateDirect(10_000);
      boolean there = true;
      for (int tries = 0; there && tries < 50; tries++) {
        ColdFile.dropWhereTold(path);
        bytes.position(100).limit(8_100);
        there = device.readNow(500_000, bytes);
        assertThat(bytes.position()).isEqualTo(there ? 8_100 : 100);
        assertThat(there && !bytes.flip().position(100).slice().equals(wanted)).isFalse();
      }
      assertThat(there).isFalse();

      device.read(500_000, bytes.position(100).limit(8_100));
      assertThat(device.readNow(500_000, bytes.position(100))).isTrue();
      assertThat(bytes.remaining()).isZero();
      assertThat(bytes.flip().position(100).slice()).isEqualTo(wanted);
    }
  }

  @Test
  void pastTheEndOfACutFileNothingIsReadNow() throws IOException {
    Path path = Files.write(directory.resolve("cut.raw"), new byte[8192]);
    try (var device = FileDevice.openReadOnly(path)) {
      Files.write(path, new byte[5000]);
      ByteBuffer bytes = ByteBuffer.allocateDirect(4096);
      assertThat(device.readNow(4096, bytes)).isFalse();
      assertThat(bytes.position()).isZero();
      assertThat(device.readNow(904, bytes)).isTrue();
    }
  }

  @Test
  void aDeviceThatIsClosedDoesNotReadTheFileThatHasItsNumberNow() throws IOException {
    Path path = Files.write(directory.resolve("disk.raw"), new byte[8192]);
    var device = FileDevice.openToWrite(path);
    device.close();
    device.close();
    try (var _ = FileDevice.openReadOnly(path);
        var _ = FileDevice.openReadOnly(path)) {
      assertThatThrownBy(() -> device.readNow(0, ByteBuffer.allocateDirect(4096)))
          .isInstanceOf(ClosedChannelException.class);
      assertThatThrownBy(() -> device.trim(0, 4096)).isInstanceOf(ClosedChannelException.class);
      assertThatThrownBy(() -> device.zero(0, 4096, false))
          .isInstanceOf(ClosedChannelException.class);
      assertThatThrownBy(() -> device.extents(0, 4096)).isInstanceOf(ClosedChannelException.class);
    }
  }

  @Test
  void onlyFilesAreOpened() {
    Path full = Path.of("/dev/full");
    assertThatThrownBy(() -> FileDevice.openToWrite(full)).hasMessage("/dev/full is not a file");
    assertThatThrownBy(() -> FileDevice.openReadOnly(directory.resolve("none")))
        .isInstanceOf(NoSuchFileException.class);
  }

  private static long allocated(Path path) {
    return 512 * Long.parseLong(Shell.run("stat", "-c", "%b", path).trim());
  }
}
