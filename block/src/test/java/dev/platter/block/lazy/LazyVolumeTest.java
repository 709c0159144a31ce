package dev.platter.block.lazy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.BlockDevice;
import dev.platter.block.FileDevice;
import dev.platter.block.MemoryDevice;
import dev.platter.block.nbd.NbdServer;
import dev.platter.image.raw.SparseFile;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A volume that is used before its image has come; qemu-img and qemu-io look at it as well. */
class LazyVolumeTest {
  private static final int MIB = 1 << 20;
  private static final int BLOCK = FilledBlocks.BLOCK;

  /** Its last block is a part of one. */
  private static final int IMAGE = 5 * MIB + 3 * 4096;

  private static final int SIZE = 8 * MIB;

  @TempDir Path directory;
  private Path raw;
  private FileDevice image;

  /** What the volume has to be. */
  private final byte[] model = new byte[SIZE];

  @BeforeEach
  void make() throws IOException {
    raw = directory.resolve("image.raw");
    SparseFile.create(raw, IMAGE);
    var bytes = new byte[IMAGE];
    new Random(7).nextBytes(bytes);
    Arrays.fill(bytes, 2 * MIB, 3 * MIB, (byte) 0);
    try (var file = FileDevice.openToWrite(raw)) {
      file.write(0, ByteBuffer.wrap(bytes, 0, 2 * MIB));
      file.write(3 * MIB, ByteBuffer.wrap(bytes, 3 * MIB, IMAGE - 3 * MIB));
    }
    System.arraycopy(bytes, 0, model, 0, IMAGE);
    image = FileDevice.openReadOnly(raw);
    SparseFile.create(volume(), SIZE);
    Files.write(directory.resolve("map"), LazyVolume.nothing(IMAGE));
  }

  @AfterEach
  void close() throws IOException {
    image.close();
  }

  private Path volume() {
    return directory.resolve("volume.raw");
  }

  private LazyVolume open(BlockDevice source, String boot) throws IOException {
    return new LazyVolume(
        volume(), directory.resolve("map"), directory.resolve("live"), source, boot);
  }

  private LazyVolume open() throws IOException {
    return open(image, "first");
  }

  private static byte[] read(BlockDevice device, long offset, int length) throws IOException {
    var out = ByteBuffer.allocate(length);
    device.read(offset, out);
    return out.array();
  }

  private byte[] write(BlockDevice device, int offset, int length) throws IOException {
    var bytes = new byte[length];
    new Random(offset).nextBytes(bytes);
    device.write(offset, ByteBuffer.wrap(bytes));
    System.arraycopy(bytes, 0, model, offset, length);
    return bytes;
  }

  @Test
  void randomRequestsLeaveWhatTheyWouldInAnArray() throws IOException {
    var random = new Random(11);
    for (var round = 0; round < 5; round++) {
      try (var volume = open()) {
        for (var i = 0; i < 60; i++) {
          var offset = random.nextInt(SIZE - 1);
          var length = 1 + random.nextInt(Math.min(SIZE - offset, 3 * BLOCK));
          switch (random.nextInt(4)) {
            case 0 -> write(volume, offset, length);
            case 1 -> {
              volume.zero(offset, length, random.nextBoolean());
              Arrays.fill(model, offset, offset + length, (byte) 0);
            }
            case 2 -> volume.flush();
            default ->
                assertThat(read(volume, offset, length))
                    .isEqualTo(Arrays.copyOfRange(model, offset, offset + length));
          }
        }
      }
    }
    try (var volume = open()) {
      assertThat(read(volume, 0, SIZE)).isEqualTo(model);
    }
  }

  @Test
  void whatIsFilledNeedsTheImageNoMore() throws IOException {
    try (var volume = open()) {
      write(volume, 100, 1000);
      var rounds = 0;
      while (volume.fillSome()) {
        rounds++;
      }
      volume.flush();
      assertThat(rounds).isBetween(5, 6);
      assertThat(volume.percent()).isEqualTo(100);
    }
    assertThat(Files.readAllBytes(volume())).isEqualTo(model);
  }

  @Test
  void holesOfTheImageTakeNoRoom() throws IOException {
    try (var volume = open()) {
      while (volume.fillSome()) {}
    }
    assertThat(SparseFile.onDisk(volume())).isLessThanOrEqualTo(SparseFile.onDisk(raw) + MIB / 2);
  }

  @Test
  void aWholeBlockIsWrittenWithoutTheImage() throws IOException {
    try (var none =
            new RemoteImage(directory.resolve("nobody"), "", IMAGE, Duration.ofDays(1), _ -> {});
        var volume = open(none, "first")) {
      var bytes = write(volume, BLOCK, 2 * BLOCK);
      assertThat(volume.ready(BLOCK, 2 * BLOCK)).isTrue();
      assertThat(volume.ready(0, BLOCK)).isFalse();
      assertThat(read(volume, BLOCK, 2 * BLOCK)).isEqualTo(bytes);
      assertThat(read(volume, 6 * MIB, MIB)).as("behind the image").containsOnly(0);
    }
  }

  @Test
  void whatWasAnsweredIsThereAfterTheProcessWasKilled() throws IOException {
    var killed = open(); // Nothing of it is flushed, or closed.
    write(killed, 5000, 100);
    write(killed, 4 * BLOCK, BLOCK);
    read(killed, 10 * BLOCK, 1);
    try (var volume = open(new MemoryDevice(IMAGE), "first")) {
      assertThat(read(volume, 0, BLOCK)).isEqualTo(Arrays.copyOf(model, BLOCK));
      assertThat(read(volume, 4 * BLOCK, BLOCK))
          .isEqualTo(Arrays.copyOfRange(model, 4 * BLOCK, 5 * BLOCK));
      assertThat(volume.ready(10 * BLOCK, BLOCK)).isTrue();
      volume.flush();
    }
    try (var volume = open(new MemoryDevice(IMAGE), "second")) {
      assertThat(read(volume, 0, BLOCK))
          .as("flushed by who came after")
          .isEqualTo(Arrays.copyOf(model, BLOCK));
    }
    killed.close();
  }

  @Test
  void afterAPowerCutWhatWasNotFlushedIsTheImageAndNothingElse() throws IOException {
    byte[] flushed;
    try (var volume = open()) {
      flushed = write(volume, 3 * BLOCK, BLOCK);
      volume.flush();
      write(volume, 5 * BLOCK + 17, 20);
      write(volume, 2 * MIB, BLOCK); // Where the image has a hole.
      write(volume, IMAGE - 10, 100); // In its last block, and behind it.
    }
    try (var volume = open(image, "second")) {
      assertThat(read(volume, 3 * BLOCK, BLOCK)).isEqualTo(flushed);
      assertThat(volume.ready(5 * BLOCK, BLOCK)).isFalse();
      assertThat(read(volume, 5 * BLOCK, BLOCK)).isEqualTo(read(image, 5 * BLOCK, BLOCK));
      assertThat(read(volume, 2 * MIB, MIB)).containsOnly(0);
      assertThat(read(volume, IMAGE - 10, 10)).isEqualTo(read(image, IMAGE - 10, 10));
      assertThat(read(volume, IMAGE, BLOCK)).containsOnly(0);
    }
  }

  /**
   * A disk with a cache as the kernel's: of what cannot be stored it is told once, by the first
   * flush, and what is in the cache is forgotten.
   */
  private static final class Forgetful implements BlockDevice {
    private byte[] stored = new byte[SIZE];
    private MemoryDevice cached = new MemoryDevice(SIZE);
    private boolean fails;

    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public boolean readOnly() {
      return false;
    }

    @Override
    public void read(long offset, ByteBuffer into) throws IOException {
      cached.read(offset, into);
    }

    @Override
    public void write(long offset, ByteBuffer from) throws IOException {
      cached.write(offset, from);
    }

    @Override
    public void zero(long offset, long length, boolean mayTrim) throws IOException {
      cached.zero(offset, length, mayTrim);
    }

    @Override
    public void trim(long offset, long length) throws IOException {
      cached.trim(offset, length);
    }

    @Override
    public void flush() throws IOException {
      if (fails) {
        fails = false;
        cached = new MemoryDevice(SIZE);
        cached.write(0, ByteBuffer.wrap(stored));
        throw new IOException("Input/output error");
      }
      stored = LazyVolumeTest.read(cached, 0, SIZE);
    }

    @Override
    public void close() {}
  }

  private LazyVolume on(Forgetful disk, String boot) throws IOException {
    return new LazyVolume(disk, directory.resolve("map"), directory.resolve("live"), image, boot);
  }

  @Test
  void whatOfTheImageCouldNotBeStoredIsTakenOnceMore() throws IOException {
    var disk = new Forgetful();
    try (var volume = on(disk, "first")) {
      write(volume, 2 * BLOCK, BLOCK);
      volume.flush();
      while (volume.fillSome()) {}
      disk.fails = true;
      assertThatThrownBy(volume::finish).hasMessage("Input/output error");
      assertThat(volume.percent()).isLessThan(100);
      assertThat(read(volume, 0, SIZE)).isEqualTo(model);
      write(volume, 4 * BLOCK, 10);
      while (volume.fillSome()) {}
      assertThat(volume.finish()).isTrue();
    }
    assertThat(disk.stored).isEqualTo(model);
  }

  @Test
  void whoWroteWhatCouldNotBeStoredIsToldUntilNobodyUsesTheVolume() throws IOException {
    var disk = new Forgetful();
    var live = directory.resolve("live");
    byte[] flushed;
    try (var volume = on(disk, "first")) {
      flushed = write(volume, 2 * BLOCK, BLOCK);
      volume.flush();
      write(volume, 2 * BLOCK, 100);
      disk.fails = true;
      assertThatThrownBy(volume::flush).hasMessageContaining("may be lost");
      assertThatThrownBy(volume::flush).hasMessageContaining("may be lost");
      assertThatThrownBy(() -> write(volume, 0, 1)).hasMessageContaining("may be lost");
    }
    try (var volume = on(disk, "first")) {
      assertThatThrownBy(volume::flush).as("another process").hasMessageContaining("may be lost");
    }
    assertThatThrownBy(
            () ->
                LazyVolume.mend(
                    live,
                    () -> {
                      throw new IOException("not now");
                    }))
        .hasMessage("not now");
    var mended = new AtomicInteger();
    LazyVolume.mend(live, mended::incrementAndGet);
    assertThat(mended).as("still broken then").hasValue(1);
    try (var volume = on(disk, "first")) {
      assertThat(read(volume, 2 * BLOCK, BLOCK)).isEqualTo(flushed);
      assertThat(read(volume, 5 * BLOCK, BLOCK)).isEqualTo(read(image, 5 * BLOCK, BLOCK));
      write(volume, 0, 1);
      volume.flush();
      LazyVolume.mend(live, mended::incrementAndGet);
      assertThat(mended).as("of one that is not broken").hasValue(1);
      assertThat(live).exists();
    }
  }

  /** As the kernel does with a page that it could not write and needs for something else. */
  @Test
  void whatAGuestHasWrittenStaysItsOwnIfTheLiveBitsAreForgotten() throws IOException {
    try (var volume = open()) {
      write(volume, 0, 2 * BLOCK);
      volume.flush();
      try (var live = FileChannel.open(directory.resolve("live"), StandardOpenOption.WRITE)) {
        live.write(ByteBuffer.allocate(8), 4096);
      }
      assertThat(read(volume, 0, BLOCK)).isEqualTo(Arrays.copyOf(model, BLOCK));
      write(volume, 3 * BLOCK, BLOCK);
    }
    try (var volume = open(image, "first")) {
      assertThat(read(volume, 0, SIZE)).isEqualTo(model);
    }
  }

  @Test
  void qemuReadsAndWritesItOverNbdWhileTheServerOfTheImageComesLate() throws Exception {
    var images = directory.resolve("images.sock");
    var volumes = directory.resolve("volumes.sock");
    try (var remote = new RemoteImage(images, "base", IMAGE, Duration.ofMillis(20), _ -> {});
        var volume = open(remote, "first");
        var server = new NbdServer();
        var late = new NbdServer()) {
      server.add("vol", volume);
      server.listen(UnixDomainSocketAddress.of(volumes));
      var uri = "nbd+unix:///vol?socket=" + volumes;
      var first =
          CompletableFuture.supplyAsync(
              () -> Shell.run("qemu-io", "-f", "raw", "-c", "write -P 77 4096 8192", uri));
      Thread.sleep(200);
      assertThat(first).isNotDone();
      late.add("base", image);
      late.listen(UnixDomainSocketAddress.of(images));
      assertThat(first.get(30, TimeUnit.SECONDS)).contains("wrote 8192/8192");
      Arrays.fill(model, 4096, 4096 + 8192, (byte) 77);
      var expected = directory.resolve("expected.raw");
      Files.write(expected, model);
      assertThat(
              Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", expected.toString(), uri))
          .contains("Images are identical");
    }
    assertThat(Files.readAllBytes(volume())).isEqualTo(model);
  }
}
