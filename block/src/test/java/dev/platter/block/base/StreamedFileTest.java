package dev.platter.block.base;

import static dev.platter.lab.Shell.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.BadImageException;
import dev.platter.lab.LoopMount;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What lies on the disk of a layer that is streamed. */
class StreamedFileTest {
  private static final int PIECE = 50_000;

  @TempDir Path work;

  private static void pass(StreamedFile stream, byte[] disk) throws IOException {
    for (int at = 0; at < disk.length; at += PIECE) {
      stream.bytes(ByteBuffer.wrap(disk, at, Math.min(PIECE, disk.length - at)));
    }
    stream.end();
  }

  @Test
  void zerosThatPassTakeNoRoom() throws IOException {
    byte[] disk = new byte[(24 << 20) + 512];
    new Random(4).nextBytes(disk);
    Arrays.fill(disk, 3_000_000, 17_000_000, (byte) 0);
    Arrays.fill(disk, 20 << 20, disk.length, (byte) 0);
    Path raw = Files.write(work.resolve("disk.raw"), disk);
    try (StreamedFile stream = StreamedFile.create(work)) {
      stream.begin("disk/vm.raw", disk.length);
      pass(stream, disk);
      Path part = work.resolve("disk.part");
      run("cmp", raw, part);
      long allocated = 512 * Long.parseLong(run("stat", "-c", "%b", part).trim());
      assertThat(allocated).isLessThan((20 << 20) - 14_000_000 + (64 << 10));
      assertThat(TestLayer.readAll(stream)).isEqualTo(disk);
    }
  }

  @Test
  void aFullDiskIsWaitedForAndTheReadersGoOn() throws Exception {
    assumeTrue(LoopMount.Type.EXT4.isPossible(), "no ext4 on loop devices here");
    byte[] disk = new byte[8 << 20];
    new Random(5).nextBytes(disk);
    try (var mount = LoopMount.make(work, LoopMount.Type.EXT4, 16 << 20);
        var threads = Executors.newFixedThreadPool(2);
        StreamedFile stream = StreamedFile.create(mount.path())) {
      Path ballast = mount.path().resolve("ballast");
      run("fallocate", "-l", "6M", ballast);
      stream.begin("disk/vm.raw", disk.length);
      Future<byte[]> reader = threads.submit(() -> TestLayer.readAll(stream));
      Future<?> passing =
          threads.submit(
              () -> {
                pass(stream, disk);
                return null;
              });
      while (stream.progress().lastError() == null && !passing.isDone()) {
        Thread.onSpinWait();
      }
      assertThat(stream.progress().lastError()).isEqualTo("No space left on device");
      assertThat(passing).isNotDone();
      assertThat(reader).isNotDone();
      Files.delete(ballast);
      assertThat(reader.get()).isEqualTo(disk);
      passing.get();
      assertThat(stream.progress().lastError()).isNull();
      assertThat(stream.isCut()).isFalse();
    }
  }

  @Test
  void closingEndsTheWaitForRoom() throws Exception {
    assumeTrue(LoopMount.Type.EXT4.isPossible(), "no ext4 on loop devices here");
    byte[] disk = new byte[16 << 20];
    new Random(6).nextBytes(disk);
    try (var mount = LoopMount.make(work, LoopMount.Type.EXT4, 16 << 20);
        var threads = Executors.newSingleThreadExecutor();
        StreamedFile stream = StreamedFile.create(mount.path())) {
      stream.begin("disk/vm.raw", disk.length);
      Future<?> passing =
          threads.submit(
              () -> {
                pass(stream, disk);
                return null;
              });
      while (stream.progress().lastError() == null && !passing.isDone()) {
        Thread.onSpinWait();
      }
      stream.close();
      assertThatThrownBy(passing::get).hasCauseInstanceOf(IOException.class);
    }
  }

  @Test
  void aDiskFileLargerThanAnyDiskIsRefusedBeforeItsFirstByte() throws IOException {
    try (StreamedFile stream = StreamedFile.create(work)) {
      assertThatThrownBy(() -> stream.begin("disk/vm.raw", Long.MAX_VALUE))
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining("the layer has a disk of 9223372036854775807 bytes");
    }
  }
}
