package dev.platter.block;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.raw.SparseFile;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A disk that can be written while the file below it stays as it is, raw or qcow2. */
class EphemeralDeviceTest {
  private static final int MIB = 1 << 20;

  /** Its last block is a part of one, and its last sector too. */
  private static final int SIZE = 3 * MIB + 1000;

  private static final int SECTORS = 3 * MIB + 1024;

  @TempDir Path directory;
  private Path raw;
  private byte[] model;

  @BeforeEach
  void fill() throws IOException {
    raw = directory.resolve("base.raw");
    model = new byte[SECTORS];
    new Random(5).nextBytes(model);
    Arrays.fill(model, MIB, 2 * MIB, (byte) 0);
    Arrays.fill(model, SIZE, SECTORS, (byte) 0);
    SparseFile.create(raw, SIZE);
    try (var file = FileDevice.openToWrite(raw)) {
      file.write(0, ByteBuffer.wrap(model, 0, MIB));
      file.write(2 * MIB, ByteBuffer.wrap(model, 2 * MIB, SIZE - 2 * MIB));
    }
  }

  private Path work() throws IOException {
    return Files.createDirectories(directory.resolve("work"));
  }

  private static byte[] read(BlockDevice device) throws IOException {
    ByteBuffer all = ByteBuffer.allocate((int) device.size());
    device.read(0, all);
    return all.array();
  }

  @Test
  void randomRequestsLeaveWhatTheyWouldInAnArrayAndTheBaseAsItWas() throws IOException {
    byte[] before = Files.readAllBytes(raw);
    try (var base = FileDevice.openReadOnly(raw);
        var device = EphemeralDevice.over(base, work())) {
      assertThat(device.size()).isEqualTo(SECTORS);
      assertReadNow(device);
      var random = new Random(11);
      for (int i = 0; i < 400; i++) {
        change(device, random);
        assertHolesAreZero(device);
        if (i % 20 == 0) {
          assertReadNow(device);
        }
      }
      assertThat(read(device)).isEqualTo(model);
    }
    assertThat(raw).hasBinaryContent(before);
  }

  private void change(BlockDevice device, Random random) throws IOException {
    int at = random.nextInt(SECTORS);
    int length = Math.min(SECTORS - at, 1 + random.nextInt(1 << (1 + random.nextInt(19))));
    switch (random.nextInt(3)) {
      case 0 -> {
        Arrays.fill(model, at, at + length, (byte) 0);
        device.zero(at, length, random.nextBoolean());
      }
      case 1 -> {
        Arrays.fill(model, at, at + length, (byte) 0);
        device.trim(at, length);
      }
      default -> {
        byte[] noise = new byte[length];
        random.nextBytes(noise);
        System.arraycopy(noise, 0, model, at, length);
        device.write(at, ByteBuffer.wrap(noise));
      }
    }
    ByteBuffer back = ByteBuffer.allocate(length);
    device.read(at, back);
    assertThat(back.array()).isEqualTo(Arrays.copyOfRange(model, at, at + length));
  }

  /** What was just read is in memory. */
  private void assertReadNow(BlockDevice device) throws IOException {
    assertThat(read(device)).isEqualTo(model);
    ByteBuffer now = ByteBuffer.allocateDirect(SECTORS);
    assertThat(device.readNow(0, now)).isTrue();
    assertThat(now.flip()).isEqualTo(ByteBuffer.wrap(model));
  }

  @Test
  void whenAPartIsNotInMemoryNothingIsReadNow() throws IOException {
    ColdFile.dropWhereTold(raw);
    try (var base = FileDevice.openReadOnly(raw);
        var device = EphemeralDevice.over(base, work())) {
      device.write(0, ByteBuffer.wrap(new byte[4096]));
      ByteBuffer bytes = ByteBuffer.allocateDirect(9000).position(100);
      assertThat(device.readNow(0, bytes.limit(4196))).isTrue();
      assertThat(device.readNow(0, bytes.position(100).limit(9000))).isFalse();
      assertThat(bytes.position()).isEqualTo(100);
      assertThat(bytes.limit()).isEqualTo(9000);
    }
  }

  private void assertHolesAreZero(BlockDevice device) throws IOException {
    int at = 0;
    while (at < SECTORS) {
      for (Extent extent : device.extents(at, SECTORS - at)) {
        int end = at + (int) extent.length();
        if (extent.isHole()) {
          assertThat(Arrays.mismatch(model, at, end, new byte[end - at], 0, end - at)).isNegative();
        }
        at = end;
      }
    }
    assertThat(at).isEqualTo(SECTORS);
  }

  @Test
  void thoseWhoWriteTheSameBlockAtOnceLoseNothing() throws Exception {
    int threads = 8;
    try (var base = FileDevice.openReadOnly(raw);
        var device = EphemeralDevice.over(base, work());
        var pool = Executors.newFixedThreadPool(threads)) {
      var all =
          IntStream.range(0, threads).mapToObj(n -> pool.submit(() -> stripes(device, n))).toList();
      for (Future<?> one : all) {
        one.get();
      }
      byte[] now = read(device);
      for (int i = 0; i < MIB; i++) {
        assertThat(now[i]).isEqualTo((byte) (1 + i / 512 % threads));
      }
    }
  }

  /** Sector n of each block, and nothing else. */
  private static Void stripes(BlockDevice device, int n) throws IOException {
    byte[] sector = new byte[512];
    Arrays.fill(sector, (byte) (1 + n));
    for (int block = 0; block < MIB / 4096; block++) {
      device.write(block * 4096L + n * 512L, ByteBuffer.wrap(sector));
    }
    return null;
  }

  @Test
  void aQcow2ReadsAsQemuConvertsItAndTakesNoMoreThanWhatIsWritten() throws IOException {
    Path qcow2 = directory.resolve("base.qcow2");
    Shell.run("qemu-img", "convert", "-c", "-f", "raw", "-O", "qcow2", raw, qcow2);
    Shell.run("qemu-img", "resize", "-f", "qcow2", qcow2, "1T");
    Path work = work();
    try (var base = Qcow2Device.open(qcow2);
        var device = EphemeralDevice.over(base, work)) {
      assertThat(device.size()).isEqualTo(1L << 40);
      ByteBuffer start = ByteBuffer.allocate(SECTORS);
      device.read(0, start);
      assertThat(start.array()).isEqualTo(model);
      device.write((1L << 40) - 512, ByteBuffer.wrap(new byte[512]));
      assertThat(device.extents(MIB + 65536, MIB / 2).getFirst().isHole()).isTrue();
      assertThat(device.extents(0, 4096).getFirst().isHole()).isFalse();
      assertThat(work).as("a crash leaves nothing").isEmptyDirectory();
    }
  }
}
