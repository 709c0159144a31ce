package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static dev.platter.block.nbd.RawClient.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.FileDevice;
import dev.platter.block.MemoryDevice;
import dev.platter.block.NoSpaceException;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Devices that are slow or broken. */
@Timeout(60)
class TroubledDevicesTest {
  private static final int MIB = 1 << 20;
  private static final int EIO = 5;

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

  /** A script in Debian's own Python, which is the one that its libnbd is made for. */
  private static String libnbd(String script) {
    return Shell.run("/usr/bin/python3", "-c", "import nbd\nh = nbd.NBD()\n" + script);
  }

  private String uri(String name) {
    return "nbd+unix:///" + name + "?socket=" + socket;
  }

  /** Its second half has to be fetched, which takes until {@code arrived}. */
  private static final class HalfFetched extends ReadOnlyMemory {
    final CountDownLatch arrived = new CountDownLatch(1);
    final AtomicInteger fetches = new AtomicInteger();

    HalfFetched() {
      super(2 * MIB);
    }

    @Override
    public boolean ready(long offset, long length) {
      return offset + length <= MIB || arrived.getCount() == 0;
    }

    @Override
    public void fetch(long offset, long length) {
      fetches.incrementAndGet();
      try {
        arrived.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    @Override
    public void read(long offset, ByteBuffer into) throws IOException {
      assertThat(ready(offset, into.remaining())).as("the server reads what is ready").isTrue();
      super.read(offset, into);
    }
  }

  @Test
  void aReadThatIsFetchedDoesNotHoldUpTheOnesBehindIt() throws IOException {
    var device = new HalfFetched();
    server.add("", device);
    for (boolean structured : new boolean[] {false, true}) {
      try (var client = RawClient.connected(socket, "", structured)) {
        if (!structured) {
          client.send(request(CMD_READ, 0, 1, MIB, 4096));
          client.send(request(CMD_READ, 0, 2, 0, 4096));
          assertThat(client.simpleReply(2)).isZero();
          client.receive(4096);
          device.arrived.countDown();
          assertThat(client.simpleReply(1)).isZero();
          client.receive(4096);
        } else {
          client.send(request(CMD_READ, 0, 3, MIB, 4096));
          assertThat(client.chunk().cookie()).isEqualTo(3);
        }
      }
    }
    assertThat(device.fetches).hasValue(1);
  }

  @Test
  void aClientWithTooManySlowReadsWaitsAndOthersDoNot() throws Exception {
    var device = new HalfFetched();
    server.add("", device);
    try (var greedy = RawClient.connected(socket, "", false);
        var modest = RawClient.connected(socket, "", false)) {
      for (int i = 0; i < 100; i++) {
        greedy.send(request(CMD_READ, 0, i, MIB, 512));
      }
      modest.send(request(CMD_READ, 0, 1, 0, 512));
      assertThat(modest.simpleReply(1)).isZero();
      modest.receive(512);
      assertThat(device.fetches.get()).isLessThanOrEqualTo(16);
      device.arrived.countDown();
      for (int i = 0; i < 100; i++) {
        assertThat(greedy.receive(SIMPLE_BYTES + 512).getInt()).isEqualTo(SIMPLE_MAGIC);
      }
    }
  }

  @Test
  void closingTheServerAnswersWhatWasAskedBefore() throws Exception {
    var device = new HalfFetched();
    server.add("", device);
    try (var client = RawClient.connected(socket, "", false)) {
      client.send(request(CMD_READ, 0, 1, MIB, 512));
      while (device.fetches.get() == 0) {
        Thread.sleep(1);
      }
      var closing = Thread.ofPlatform().start(this::closeUnchecked);
      Thread.sleep(50);
      device.arrived.countDown();
      assertThat(client.simpleReply(1)).isZero();
      client.receive(512);
      client.assertClosed();
      closing.join();
    }
  }

  private void closeUnchecked() {
    try {
      server.close();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Cannot read beyond its first megabyte. */
  private static final class BadSectors extends ReadOnlyMemory {
    BadSectors() {
      super(4 * MIB);
    }

    @Override
    public void read(long offset, ByteBuffer into) throws IOException {
      if (offset + into.remaining() > MIB) {
        throw new IOException("bad sector");
      }
      super.read(offset, into);
    }
  }

  @Test
  void aReadThatFailsInTheMiddleHasAnErrorAtTheRightOffset() throws IOException {
    server.add("", new BadSectors());
    try (var client = RawClient.connected(socket, "", true)) {
      client.send(request(CMD_READ, 0, 1, 0, 4 * MIB));
      var data = client.chunk();
      assertThat(data.type()).isEqualTo(CHUNK_OFFSET_DATA);
      assertThat(data.data().remaining()).isEqualTo(8 + 4 * MIB);
      assertThat(data.flags()).isZero();
      var error = client.chunk();
      assertThat(error.type()).isEqualTo(CHUNK_ERROR_OFFSET);
      assertThat(error.flags()).isEqualTo(CHUNK_DONE);
      assertThat(error.data().getInt()).isEqualTo(EIO);
      assertThat(error.data().getShort()).isZero();
      assertThat(error.data().getLong()).isBetween((long) MIB / 2, (long) MIB);

      client.send(request(CMD_READ, 0, 2, 0, 512));
      assertThat(client.chunk().type()).isEqualTo(CHUNK_OFFSET_DATA);
    }
  }

  @Test
  void libnbdTakesAFailedReadAsAnErrorAndGoesOn() throws IOException {
    server.add("", new BadSectors());
    for (String structured : new String[] {"True", "False"}) {
      String script =
          """
          h.set_request_structured_replies(%s)
          h.connect_uri("%s")
          try:
              h.pread(300000, 1048000)
              print("read")
          except nbd.Error as e:
              print(e.errno)
          print(len(h.pread(512, 0)))
          """
              .formatted(structured, uri(""));
      assertThat(libnbd(script)).isEqualTo("EIO\n512\n");
    }
  }

  @Test
  void aFileThatIsCutWhileServedGivesErrorsAndNoBytes() throws IOException {
    Path disk = TestDisk.file(directory.resolve("disk.raw"));
    try (var device = FileDevice.openReadOnly(disk);
        var file = FileChannel.open(disk, StandardOpenOption.WRITE)) {
      server.add("", device);
      file.truncate(100_000);
      try (var client = RawClient.connected(socket, "", true)) {
        client.send(request(CMD_READ, FLAG_DF, 1, 0, 200_000));
        assertThat(client.chunk().data().remaining()).isEqualTo(200_008);
        var error = client.chunk();
        assertThat(error.type()).isEqualTo(CHUNK_ERROR_OFFSET);
        assertThat(error.data().getInt()).isEqualTo(EIO);
        error.data().getShort();
        assertThat(error.data().getLong()).isEqualTo(100_000);
        client.send(request(CMD_READ, 0, 2, 200_000, 512));
        assertThat(client.chunk().type()).isEqualTo(CHUNK_ERROR);
      }
    }
  }

  @Test
  void aFullDiskIsToldFromABrokenOne() throws IOException {
    server.add("full", new FullDevice());
    for (String call : new String[] {"h.pwrite(b'x' * 512, 0)", "h.pwrite(b'x' * 3000000, 0)"}) {
      String script =
          """
          h.connect_uri("%s")
          try:
              %s
              print("written")
          except nbd.Error as e:
              print(e.errno)
          h.flush()
          """
              .formatted(uri("full"), call);
      assertThat(libnbd(script)).isEqualTo("ENOSPC\n");
    }
  }

  private static final class FullDevice extends ReadOnlyMemory {
    FullDevice() {
      super(4 * MIB);
    }

    @Override
    public boolean readOnly() {
      return false;
    }

    @Override
    public void write(long offset, ByteBuffer from) throws IOException {
      throw new NoSpaceException(new IOException("full"));
    }
  }

  @Test
  void libnbdFindsWhatItWroteInOddPlaces() throws IOException {
    try (var device = new MemoryDevice(3 * MIB + 7)) {
      server.add("", device);
      String script =
          """
          import random
          h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
          h.connect_uri("%s")
          model = bytearray(h.get_size())
          rnd = random.Random(7)
          def read(n, at, flags):
              parts = []
              data = h.pread_structured(n, at, lambda b, o, s, e: parts.append(o), flags)
              assert len(parts) == 1 or not flags, parts
              return data
          def extents():
              found = []
              def add(context, offset, entries, err):
                  found.extend(zip(entries[0::2], entries[1::2]))
              at = 0
              while at < len(model):
                  found.clear()
                  h.block_status(len(model) - at, at, add)
                  for length, flags in found:
                      if flags == 3:
                          assert not any(model[at:at + length]), at
                      at += length
              assert at == len(model)
          for i in range(400):
              at = rnd.randrange(len(model))
              n = min(rnd.choice([1, 7, 512, 4096, 65536, 65537, 700000]), len(model) - at)
              what = rnd.randrange(5)
              if what == 0:
                  data = rnd.randbytes(n)
                  h.pwrite(data, at, rnd.choice([0, nbd.CMD_FLAG_FUA]))
                  model[at:at + n] = data
              elif what == 1:
                  h.zero(n, at, rnd.choice([0, nbd.CMD_FLAG_NO_HOLE, nbd.CMD_FLAG_FUA]))
                  model[at:at + n] = bytes(n)
              elif what == 2:
                  h.trim(n, at)
                  model[at:at + n] = h.pread(n, at)
              elif what == 3:
                  h.cache(n, at)
              assert read(n, at, rnd.choice([0, nbd.CMD_FLAG_DF])) == model[at:at + n], (i, at, n)
              if i %% 20 == 0:
                  extents()
          assert h.pread(len(model), 0) == model
          print("same")
          """
              .formatted(uri(""));
      assertThat(libnbd(script)).isEqualTo("same\n");
    }
  }
}
