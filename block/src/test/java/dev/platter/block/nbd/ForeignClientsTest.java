package dev.platter.block.nbd;

import static dev.platter.lab.Shell.run;
import static dev.platter.lab.Shell.shell;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.BlockDevice;
import dev.platter.block.FileDevice;
import dev.platter.block.MemoryDevice;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What libnbd's and QEMU's tools make of the server. */
class ForeignClientsTest {
  private static final int MIB = 1 << 20;

  @TempDir Path directory;
  private NbdServer server;
  private Path socket;

  @BeforeEach
  void listen() throws IOException {
    socket = directory.resolve("nbd.sock");
    server = new NbdServer();
    server.listen(UnixDomainSocketAddress.of(socket));
  }

  @AfterEach
  void close() throws IOException {
    server.close();
    assertThat(socket).doesNotExist();
  }

  private String uri(String name) {
    return "nbd+unix:///" + name + "?socket=" + socket;
  }

  @Test
  void nbdinfoListsExportsWithTheirSizesAndAbilities() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var file = FileDevice.openReadOnly(disk);
        var memory = new MemoryDevice(5 * MIB + 1)) {
      server.add("base", file);
      server.add("scratch", memory);

      String list = run("nbdinfo", "--json", "--list", uri(""));
      assertThat(list).contains("\"export-name\": \"base\"", "\"export-name\": \"scratch\"");
      assertThat(list).contains("\"structured\": true", "\"base:allocation\"");

      String base = run("nbdinfo", "--json", uri("base"));
      assertThat(base).contains("\"export-size\": " + Files.size(disk), "\"is_read_only\": true");
      assertThat(base).contains("\"can_multi_conn\": true", "\"can_df\": true");
      assertThat(base).contains("\"can_trim\": false", "\"block_size_maximum\": 33554432");

      String scratch = run("nbdinfo", "--json", uri("scratch"));
      assertThat(scratch).contains("\"export-size\": 5242881", "\"is_read_only\": false");
      assertThat(scratch).contains("\"can_fua\": true", "\"can_trim\": true", "\"can_zero\": true");
      assertThat(scratch).contains("\"can_fast_zero\": false", "\"can_cache\": true");
    }
  }

  @Test
  void nbdinfoMapsTheHolesOfAFile() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var device = FileDevice.openReadOnly(disk)) {
      server.add("", device);
      String expected = run("qemu-img", "map", "-f", "raw", "--output=json", disk);
      String ours = run("qemu-img", "map", "-f", "raw", "--output=json", uri(""));
      // An NBD client cannot know where in a file the bytes are.
      assertThat(ours.replaceAll(", \"offset\": \\d+", ""))
          .isEqualTo(expected.replaceAll(", \"offset\": \\d+", ""))
          .contains("\"data\": false", "\"data\": true");
      assertThat(run("nbdinfo", "--map", "--totals", uri(""))).contains("hole,zero");
    }
  }

  @Test
  void aFileOfThousandsOfRunsIsMappedInParts() throws IOException {
    int runs = 3 * BlockDevice.MOST_EXTENTS;
    Path disk = TestDisk.blank(directory.resolve("disk.raw"), 8192L * runs);
    try (var device = FileDevice.openToWrite(disk)) {
      for (int i = 0; i < runs; i++) {
        device.write(8192L * i + 4096, ByteBuffer.wrap(new byte[] {1}));
      }
      server.add("", device);
      assertThat(run("qemu-img", "map", "-f", "raw", "--output=json", uri("")).lines().count())
          .isEqualTo(2 * runs);
    }
  }

  @Test
  void nbdcopyReadsAFileByteByByte() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var device = FileDevice.openReadOnly(disk)) {
      server.add("", device);
      for (String extents : new String[] {"--allocated", "--no-extents"}) {
        Path copy = directory.resolve("copy" + extents);
        run("nbdcopy", extents, uri(""), copy);
        assertThat(TestDisk.sha256(copy)).isEqualTo(TestDisk.sha256(disk));
      }
      Path copy = directory.resolve("synchronous");
      run("nbdcopy", "--synchronous", "--connections=1", uri(""), copy);
      assertThat(TestDisk.sha256(copy)).isEqualTo(TestDisk.sha256(disk));
    }
  }

  @Test
  void nbdcopyWritesAFileByteByByteAndKeepsItsHoles() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Path target = TestDisk.blank(directory.resolve("target.raw"), Files.size(disk));
    try (var device = FileDevice.openToWrite(target)) {
      server.add("", device);
      run("nbdcopy", "--destination-is-zero", "--flush", disk, uri(""));
      assertThat(TestDisk.sha256(target)).isEqualTo(TestDisk.sha256(disk));
      assertThat(TestDisk.allocated(target)).isLessThan(Files.size(disk) / 2);
    }
  }

  @Test
  void nbdcopyOverwritesWhatWasThereWithZeros() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Path target = directory.resolve("target.raw");
    Files.write(target, TestDisk.noise((int) Files.size(disk), 9));
    try (var device = FileDevice.openToWrite(target)) {
      server.add("", device);
      run("nbdcopy", "--connections=4", disk, uri(""));
      assertThat(TestDisk.sha256(target)).isEqualTo(TestDisk.sha256(disk));
    }
  }

  @Test
  void qemuImgConvertsFromAndToTheServer() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Path target = TestDisk.blank(directory.resolve("target.raw"), Files.size(disk));
    try (var from = FileDevice.openReadOnly(disk);
        var to = FileDevice.openToWrite(target)) {
      server.add("from", from);
      server.add("to", to);
      Path qcow2 = directory.resolve("copy.qcow2");
      run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", uri("from"), qcow2);
      run("qemu-img", "compare", "-f", "qcow2", "-F", "raw", qcow2, disk);
      run("qemu-img", "convert", "-n", "-W", "-f", "qcow2", "-O", "raw", qcow2, uri("to"));
      run("qemu-img", "compare", "-f", "raw", "-F", "raw", uri("to"), disk);
      assertThat(TestDisk.sha256(target)).isEqualTo(TestDisk.sha256(disk));
      assertThat(run("qemu-img", "info", uri("from"))).contains("virtual size: 24 MiB");
    }
  }

  @Test
  void qemuIoSeesWhatItWroteZeroedAndDiscarded() throws IOException {
    Path disk = TestDisk.blank(directory.resolve("disk.raw"), 8 * MIB);
    try (var file = FileDevice.openToWrite(disk);
        var memory = new MemoryDevice(8 * MIB)) {
      server.add("file", file);
      server.add("memory", memory);
      for (String name : new String[] {"file", "memory"}) {
        String said =
            run(
                "qemu-io",
                "-f",
                "raw",
                "-d",
                "unmap", //
                "-c",
                "write -P 0x11 0 4M",
                "-c",
                "write -f -P 0x22 512 3k",
                "-c",
                "flush",
                "-c",
                "write -z 1M 64k",
                "-c",
                "write -zu 2M 1M",
                "-c",
                "discard 3M 1M",
                "-c",
                "read -P 0x11 0 512",
                "-c",
                "read -P 0x22 512 3k",
                "-c",
                "read -P 0x11 3584 1044992",
                "-c",
                "read -P 0 1M 64k",
                "-c",
                "read -P 0x11 1114112 960k",
                "-c",
                "read -P 0 2M 6M",
                uri(name));
        assertThat(said).doesNotContain("failed").contains("read 6291456/6291456");
      }
      assertThat(TestDisk.allocated(disk)).isLessThan(3 * MIB);
    }
  }

  @Test
  void aReadOnlyExportIsNotWrittenTo() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var device = FileDevice.openReadOnly(disk)) {
      server.add("", device);
      var written = shell().execute("qemu-io", "-f", "raw", "-c", "write 0 512", uri(""));
      assertThat(written.status()).isNotZero();
      assertThat(written.output()).contains("Permission denied");
    }
  }

  @Test
  void tcpWorksAsTheSocketDoes() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var device = FileDevice.openReadOnly(disk)) {
      server.add("disk", device);
      var address = server.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Path copy = directory.resolve("copy");
      run("nbdcopy", "nbd://localhost:" + address.getPort() + "/disk", copy);
      assertThat(TestDisk.sha256(copy)).isEqualTo(TestDisk.sha256(disk));
    }
  }

  @Test
  void anExportThatWasRemovedIsGoneAndItsNameFree() throws IOException {
    try (var small = new MemoryDevice(MIB);
        var large = new MemoryDevice(2 * MIB)) {
      server.add("disk", small);
      assertThat(run("nbdinfo", "--size", uri("disk")).trim()).isEqualTo("1048576");
      server.remove("disk");
      assertThat(shell().execute("nbdinfo", "--size", uri("disk")).err())
          .contains("server has no export named 'disk'");
      server.add("disk", large);
      assertThat(run("nbdinfo", "--size", uri("disk")).trim()).isEqualTo("2097152");
    }
  }

  @Test
  void severalClientsAtOnceGetTheirOwnBytes() throws Exception {
    try (var a = new MemoryDevice(16 * MIB);
        var b = new MemoryDevice(16 * MIB)) {
      a.write(0, ByteBuffer.wrap(TestDisk.noise(16 * MIB, 1)));
      b.write(0, ByteBuffer.wrap(TestDisk.noise(16 * MIB, 2)));
      server.add("a", a);
      server.add("b", b);
      var clients = new Process[6];
      for (int i = 0; i < clients.length; i++) {
        String export = i % 2 == 0 ? "a" : "b";
        clients[i] =
            new ProcessBuilder("nbdcopy", uri(export), directory.resolve("copy" + i).toString())
                .inheritIO()
                .start();
      }
      for (int i = 0; i < clients.length; i++) {
        assertThat(clients[i].waitFor()).isZero();
        assertThat(directory.resolve("copy" + i))
            .hasBinaryContent(TestDisk.noise(16 * MIB, 1 + i % 2));
      }
    }
  }
}
