package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static dev.platter.block.nbd.RawClient.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.ColdFile;
import dev.platter.block.FileDevice;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Small reads of what is not in memory: they wait for the storage together, and alone. */
class ColdReadsTest {
  private static final int MIB = 1 << 20;
  private static final int AT_A_TIME = 16;

  @TempDir Path directory;
  private final NbdServer server = new NbdServer();
  private Path socket;

  @BeforeEach
  void listen() throws IOException {
    socket = directory.resolve("nbd.sock");
    server.listen(UnixDomainSocketAddress.of(socket));
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  /** Of its second half nothing is in memory, and its storage answers once enough have asked. */
  private static final class HalfCold extends ReadOnlyMemory {
    final CountDownLatch asked;

    HalfCold(int enough) {
      super(2 * MIB);
      asked = new CountDownLatch(enough);
    }

    @Override
    public boolean readNow(long offset, ByteBuffer into) throws IOException {
      return offset < MIB && super.readNow(offset, into);
    }

    @Override
    public void read(long offset, ByteBuffer into) throws IOException {
      if (offset >= MIB) {
        asked.countDown();
        try {
          assertThat(asked.await(20, TimeUnit.SECONDS)).as("the others came too").isTrue();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      super.read(offset, into);
    }
  }

  @Test
  void aColdReadDoesNotHoldUpTheOnesBehindIt() throws IOException {
    for (boolean structured : new boolean[] {false, true}) {
      var device = new HalfCold(2);
      String name = "structured " + structured;
      server.add(name, device);
      try (var client = RawClient.connected(socket, name, structured)) {
        int head = structured ? CHUNK_BYTES + 8 : SIMPLE_BYTES;
        client.send(request(CMD_READ, 0, 1, MIB, 4096));
        client.send(request(CMD_READ, 0, 2, 0, 4096));
        assertThat(client.receive(head + 4096).getLong(8)).isEqualTo(2);
        device.asked.countDown();
        assertThat(client.receive(head + 4096).getLong(8)).isEqualTo(1);
      }
    }
  }

  @Test
  void coldReadsOfOneClientWaitForTheStorageTogether() throws IOException {
    server.add("", new HalfCold(AT_A_TIME));
    try (var client = RawClient.connected(socket, "", true)) {
      for (int i = 0; i < AT_A_TIME; i++) {
        client.send(request(CMD_READ, 0, i, MIB + 4096L * i, 4096));
      }
      for (int i = 0; i < AT_A_TIME; i++) {
        assertThat(client.chunk().type()).isEqualTo(CHUNK_OFFSET_DATA);
      }
    }
  }

  @Test
  void libnbdReadsAColdFileManyAtATime() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var device = FileDevice.openReadOnly(disk)) {
      server.add("", device);
      ColdFile.drop(disk);
      String script =
          """
          import nbd, random
          h = nbd.NBD()
          h.connect_uri("nbd+unix:///?socket=%s")
          disk = open("%s", "rb")
          rnd = random.Random(5)
          places = [rnd.randrange(h.get_size() - 65536) for i in range(300)]
          reads = []
          for at in places:
              bytes = nbd.Buffer(rnd.choice([1, 512, 4096, 65536]))
              while h.aio_in_flight() >= 32:
                  h.poll(-1)
              reads.append((at, bytes, h.aio_pread(bytes, at)))
          for at, bytes, cookie in reads:
              while not h.aio_command_completed(cookie):
                  h.poll(-1)
              disk.seek(at)
              assert disk.read(len(bytes)) == bytes.to_bytearray(), at
          print("same")
          """
              .formatted(socket, disk);
      assertThat(Shell.run("/usr/bin/python3", "-c", script)).isEqualTo("same\n");
    }
  }

  @Test
  void aFileThatIsCutGivesErrorsToSmallReadsAndTheServerGoesOn() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    Path other = TestDisk.file(directory.resolve("other.raw"));
    try (var device = FileDevice.openReadOnly(disk);
        var intact = FileDevice.openReadOnly(other);
        var file = FileChannel.open(disk, StandardOpenOption.WRITE)) {
      server.add("", device);
      server.add("intact", intact);
      file.truncate(100_000);
      String script =
          """
          import nbd
          for structured in [True, False]:
              h = nbd.NBD()
              h.set_request_structured_replies(structured)
              h.connect_uri("nbd+unix:///?socket=%1$s")
              for at in [98304, 200000]:
                  try:
                      h.pread(4096, at)
                      print("read")
                  except nbd.Error as e:
                      print(e.errno)
              print(len(h.pread(4096, 90000)))
          h = nbd.NBD()
          h.connect_uri("nbd+unix:///intact?socket=%1$s")
          print(len(h.pread(4096, 200000)))
          """
              .formatted(socket);
      assertThat(Shell.run("/usr/bin/python3", "-c", script))
          .isEqualTo("EIO\nEIO\n4096\nEIO\nEIO\n4096\n4096\n");
    }
  }
}
