package dev.platter.block.nbd;

import static dev.platter.lab.Shell.run;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Copies from the servers of nbdkit and QEMU; their tools say whether copies are right. */
@Timeout(120)
class DiskCopyTest {
  private static final DiskCopy.Progress QUIET = (_, _) -> {};

  @TempDir Path directory;

  private Path copyOf(DiskCopy.Source source) throws IOException {
    Path copy = directory.resolve("copy.raw");
    DiskCopy.toNewFile(source, copy, 0, QUIET);
    return copy;
  }

  private static void assertSame(Path one, Path other) {
    run("cmp", one, other);
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", "-s", one, other);
  }

  @Test
  void whatQemuServesIsCopiedWithItsHoles() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var server = ForeignServer.qemuNbd(directory, "-e", 8, "-f", "raw", disk)) {
      Path copy = copyOf(server);
      assertSame(disk, copy);
      assertThat(SparseFile.allocated(copy)).isLessThanOrEqualTo(SparseFile.allocated(disk));
      assertThat(map(copy)).isEqualTo(map(disk)).contains("\"data\": false");
    }
  }

  /** All of these cost QEMU's server much: maps, looking for holes in each read, large reads. */
  @Test
  void qemuIsAskedForTheMapOnceAndForReadsThatAreSmallAndInOnePiece() throws IOException {
    Path disk = TestDisk.blank(directory.resolve("disk.raw"), 200 << 20);
    try (var channel = FileChannel.open(disk, StandardOpenOption.WRITE)) {
      for (int run = 0; run < 20; run++) {
        channel.write(ByteBuffer.wrap(TestDisk.noise(1 << 20, run)), run * 10L << 20);
      }
    }
    String log;
    try (var server =
        ForeignServer.qemuNbd(directory, "-e", 8, "-T", "nbd_receive_request", "-f", "raw", disk)) {
      assertSame(disk, copyOf(server));
      log = server.log();
    }
    List<String> requests = log.lines().filter(line -> line.contains("Got request")).toList();
    assertThat(requests).filteredOn(line -> line.contains(".type = 0x7")).hasSize(1);
    assertThat(requests)
        .filteredOn(line -> line.contains(".type = 0x0"))
        .hasSize(20 * 4)
        .allMatch(line -> line.contains(".flags = 0x4,") && line.contains("len = 262144 "));
  }

  private static String map(Path disk) {
    return run("qemu-img", "map", "-f", "raw", "--output=json", disk);
  }

  @Test
  void thousandsOfRunsOverTwoConnectionsArriveWhereTheyBelong() throws IOException {
    try (var server =
        ForeignServer.nbdkit(
            directory, "sparse-random", "300M", "seed=7", "percent=20", "runlength=102400")) {
      try (var client = server.connect()) {
        assertThat(client.canMultiConn()).isTrue();
        assertThat(client.knowsHoles()).isTrue();
      }
      Path copy = copyOf(server);
      // The plugin compares what is written to it with what it serves.
      run("nbdcopy", copy, uri(server));
      Path expected = directory.resolve("expected.raw");
      run("nbdcopy", uri(server), expected);
      assertThat(SparseFile.allocated(copy))
          .isLessThanOrEqualTo(SparseFile.allocated(expected) + (1 << 20))
          .isLessThan(100 << 20);
    }
  }

  private static String uri(ForeignServer server) {
    return "nbd+unix:///?socket=" + server.socket;
  }

  @Test
  void aServerWithoutExtentsStructureOrSecondConnectionsStillGivesASparseCopy() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    for (var filters : List.of(List.of("noextents"), List.of("noparallel"))) {
      List<Object> arguments = new ArrayList<>(List.of("-r", "--no-sr"));
      filters.forEach(filter -> arguments.add("--filter=" + filter));
      arguments.addAll(List.of("--filter=multi-conn", "file", disk, "multi-conn-mode=disable"));
      try (var server = ForeignServer.nbdkit(directory, arguments.toArray())) {
        try (var client = server.connect()) {
          assertThat(client.canMultiConn()).isFalse();
          assertThat(client.knowsHoles()).isFalse();
        }
        Path copy = copyOf(server);
        assertSame(disk, copy);
        assertThat(SparseFile.allocated(copy)).isLessThanOrEqualTo(SparseFile.allocated(disk));
        Files.delete(copy);
      }
    }
  }

  @Test
  void aServerThatTakesSmallRequestsOnlyIsAskedInSmallOnes() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Files.write(disk, new byte[4096 - 777 % 4096], StandardOpenOption.APPEND);
    try (var channel = FileChannel.open(disk, StandardOpenOption.WRITE)) {
      channel.truncate(TestDisk.SIZE);
    }
    try (var server =
        ForeignServer.nbdkit(
            directory,
            "-r",
            "--filter=blocksize-policy",
            "file",
            disk,
            "blocksize-minimum=4096",
            "blocksize-preferred=4096",
            "blocksize-maximum=65536",
            "blocksize-error-policy=error")) {
      try (var client = server.connect()) {
        assertThat(client.mostBytes()).isEqualTo(65536);
      }
      assertSame(disk, copyOf(server));
    }
  }

  @Test
  void aCopyMayBeLargerThanTheDiskAndTellsHowFarItIs() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Path copy = directory.resolve("copy.raw");
    List<Long> told = new ArrayList<>();
    try (var server = ForeignServer.qemuNbd(directory, "-e", 8, "-f", "raw", disk)) {
      long size =
          DiskCopy.toNewFile(
              server,
              copy,
              100 << 20,
              (bytes, total) -> {
                assertThat(total).isEqualTo(TestDisk.SIZE);
                told.add(bytes);
              });
      assertThat(size).isEqualTo(100 << 20).isEqualTo(Files.size(copy));
    }
    assertThat(told).isSorted().last().isEqualTo((long) TestDisk.SIZE);
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", disk, copy);
  }

  @Test
  void anEmptyDiskGivesAnEmptyFile() throws IOException {
    try (var server = ForeignServer.nbdkit(directory, "-r", "memory", "0")) {
      assertThat(copyOf(server)).isEmptyFile();
    }
  }

  @Test
  void aFileThatIsThereIsNotTouched() throws IOException {
    Path there = Files.writeString(directory.resolve("copy.raw"), "mine");
    try (var server = ForeignServer.nbdkit(directory, "-r", "memory", "1M")) {
      assertThatThrownBy(() -> copyOf(server)).isInstanceOf(FileAlreadyExistsException.class);
    }
    assertThat(there).hasContent("mine");
  }

  @Test
  void aTargetOfTheRightSizeIsFilledAndASmallerOneRefused() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Path target = TestDisk.blank(directory.resolve("target.raw"), TestDisk.SIZE);
    Path small = TestDisk.blank(directory.resolve("small.raw"), TestDisk.SIZE - 1);
    try (var server = ForeignServer.qemuNbd(directory, "-e", 8, "-f", "raw", disk);
        var to = FileChannel.open(target, StandardOpenOption.WRITE);
        var tooSmall = FileChannel.open(small, StandardOpenOption.WRITE)) {
      DiskCopy.copy(server, RawTarget.of(to), 0, QUIET);
      assertSame(disk, target);
      assertThatThrownBy(() -> DiskCopy.copy(server, RawTarget.of(tooSmall), 0, QUIET))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void anErrorOfTheServerEndsTheCopyAndRemovesTheFile() throws Exception {
    try (var server =
        ForeignServer.nbdkit(
            directory,
            "-r",
            "--filter=error",
            "pattern",
            "200M",
            "error-pread=ENOSPC",
            "error-pread-rate=5%")) {
      assertThatThrownBy(() -> copyOf(server))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("the server answered a read of")
          .hasMessageContaining("error 28");
    }
    assertThat(directory.resolve("copy.raw")).doesNotExist();
    assertNoThreadsAreLeft();
  }

  @Test
  void aServerThatDiesEndsTheCopy() throws Exception {
    try (var server =
        ForeignServer.nbdkit(
            directory, "-r", "--filter=delay", "pattern", "1G", "delay-read=50ms")) {
      assertThatThrownBy(
              () ->
                  DiskCopy.toNewFile(
                      server,
                      directory.resolve("copy.raw"),
                      0,
                      (bytes, _) -> {
                        if (bytes > 0) {
                          server.kill();
                        }
                      }))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("connection");
    }
    assertThat(directory.resolve("copy.raw")).doesNotExist();
  }

  @Test
  void interruptingEndsACopyThatWaitsForTheServer() throws Exception {
    try (var server =
        ForeignServer.nbdkit(
            directory, "-r", "--filter=delay", "pattern", "1G", "delay-read=600")) {
      var outcome = new AtomicReference<Throwable>();
      var begun = new CountDownLatch(1);
      Thread copying =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      DiskCopy.toNewFile(
                          server, directory.resolve("copy.raw"), 0, (_, _) -> begun.countDown());
                    } catch (Throwable e) {
                      outcome.set(e);
                    }
                    if (!Thread.currentThread().isInterrupted()) {
                      outcome.set(new AssertionError("the interrupt was swallowed"));
                    }
                  });
      begun.await();
      copying.interrupt();
      copying.join();
      assertThat(outcome.get()).isInstanceOf(ClosedByInterruptException.class);
      assertNoThreadsAreLeft();
      assertThat(directory.resolve("copy.raw")).doesNotExist();
      server.kill(); // it would wait for its own delay
    }
  }

  /** One that has nothing to do any more takes an instant to end. */
  private static void assertNoThreadsAreLeft() throws InterruptedException {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("disk-copy-")) {
        assertThat(thread.join(Duration.ofSeconds(20))).as(thread.getName()).isTrue();
      }
    }
  }

  @Test
  void singleReadsAreThoseOfTheFile() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    byte[] all = Files.readAllBytes(disk);
    try (var server = ForeignServer.qemuNbd(directory, "-f", "raw", disk);
        var client = server.connect()) {
      ByteBuffer bytes = ByteBuffer.allocate(6_000_001);
      client.read(12_345, bytes);
      assertThat(bytes.flip()).isEqualTo(ByteBuffer.wrap(all, 12_345, 6_000_001));
      assertThatThrownBy(() -> client.read(TestDisk.SIZE - 1, ByteBuffer.allocate(2)))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void anExportThatIsNotThereIsRefusedByName() throws IOException {
    Path disk = TestDisk.blank(directory.resolve("disk.raw"), 1 << 20);
    try (var server = ForeignServer.qemuNbd(directory, "-f", "raw", "-x", "one", disk)) {
      assertThatThrownBy(() -> server.connect("two"))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("refuses the export 'two' (there is none)");
    }
  }
}
