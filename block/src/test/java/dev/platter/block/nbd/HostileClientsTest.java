package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static dev.platter.block.nbd.RawClient.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.block.MemoryDevice;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients that lie, stall and vanish: they get the right error or a closed connection, and a client
 * that was there all the time notices nothing.
 */
@Timeout(60)
class HostileClientsTest {
  private static final int SIZE = 1 << 20;
  private static final int EPERM = 1;
  private static final int EINVAL = 22;
  private static final int ENOSPC = 28;

  @TempDir Path directory;
  private final MemoryDevice device = new MemoryDevice(SIZE);
  private NbdServer server;
  private Path socket;
  private RawClient bystander;

  @BeforeEach
  void listen() throws IOException {
    socket = directory.resolve("nbd.sock");
    server = new NbdServer(Duration.ofMillis(500));
    server.add("disk", device);
    server.listen(UnixDomainSocketAddress.of(socket));
    bystander = RawClient.connected(socket, "disk", false);
  }

  @AfterEach
  void theBystanderIsStillServed() throws IOException {
    try (var still = bystander) {
      still.send(request(CMD_READ, 0, 77, SIZE - 1, 1));
      assertThat(still.simpleReply(77)).isZero();
      still.receive(1);
    }
    server.close();
  }

  private RawClient fresh() throws IOException {
    var client = new RawClient(socket);
    client.send(ByteBuffer.allocate(4).putInt(FIXED_NEWSTYLE | NO_ZEROES));
    return client;
  }

  private RawClient connected(boolean structured) throws IOException {
    return RawClient.connected(socket, "disk", structured);
  }

  @Test
  void unknownClientFlagsEndTheConnection() throws IOException {
    try (var client = new RawClient(socket)) {
      client.send(ByteBuffer.allocate(4).putInt(0x80));
      client.assertClosed();
    }
  }

  @Test
  void aBadOptionMagicEndsTheConnection() throws IOException {
    try (var client = fresh()) {
      client.send(ByteBuffer.allocate(16).putLong(OPTION_MAGIC + 1).putInt(OPT_LIST).putInt(0));
      client.assertClosed();
    }
  }

  @Test
  void anUnknownOptionIsRefusedWithItsDataAndTheClientGoesOn() throws IOException {
    try (var client = fresh()) {
      client.option(4711, new byte[3000]);
      assertThat(client.optionReply().type()).isEqualTo(REP_ERR_UNSUP);
      client.option(OPT_LIST, new byte[0]);
      assertThat(client.optionReply().type()).isEqualTo(REP_SERVER);
      assertThat(client.optionReply().type()).isEqualTo(REP_ACK);
    }
  }

  @Test
  void aLargeOptionIsTooBigAndAnAbsurdOneEndsTheConnection() throws IOException {
    try (var client = fresh()) {
      client.option(OPT_GO, new byte[1 << 16]);
      assertThat(client.optionReply().type()).isEqualTo(REP_ERR_TOO_BIG);
      client.send(ByteBuffer.allocate(16).putLong(OPTION_MAGIC).putInt(OPT_GO).putInt(-1));
      client.assertClosed();
    }
  }

  @Test
  void optionsWhoseLengthsDoNotAddUpAreInvalid() throws IOException {
    try (var client = fresh()) {
      byte[] longerThanItIs = RawClient.go("disk");
      longerThanItIs[3] = 100;
      byte[] negative = RawClient.go("disk");
      negative[0] = (byte) 0xff;
      byte[] manyInfos = RawClient.go("disk");
      manyInfos[8] = (byte) 0xff;
      for (byte[] data : new byte[][] {longerThanItIs, negative, manyInfos, new byte[0]}) {
        client.option(OPT_GO, data);
        assertThat(client.optionReply().type()).isEqualTo(REP_ERR_INVALID);
      }
      client.option(OPT_LIST, new byte[1]);
      assertThat(client.optionReply().type()).isEqualTo(REP_ERR_INVALID);
      client.option(OPT_SET_META_CONTEXT, new byte[8]);
      assertThat(client.optionReply().type()).as("not structured yet").isEqualTo(REP_ERR_INVALID);
    }
  }

  @Test
  void anUnknownExportIsRefusedByNameAndByTheOldOption() throws IOException {
    try (var client = fresh()) {
      client.option(OPT_GO, RawClient.go("other"));
      assertThat(client.optionReply().type()).isEqualTo(REP_ERR_UNKNOWN);
      client.option(OPT_EXPORT_NAME, "other".getBytes());
      client.assertClosed();
    }
  }

  @Test
  void theOldOptionAnswersWithItsZeros() throws IOException {
    try (var client = new RawClient(socket)) {
      client.send(ByteBuffer.allocate(4).putInt(0));
      client.option(OPT_EXPORT_NAME, "disk".getBytes());
      assertThat(client.receive(134).getLong()).isEqualTo(SIZE);
      client.send(request(CMD_READ, 0, 1, 0, 512));
      assertThat(client.simpleReply(1)).isZero();
    }
  }

  @Test
  void whoNegotiatesForeverIsCutOff() throws IOException {
    try (var silent = new RawClient(socket);
        var slow = fresh()) {
      slow.send(ByteBuffer.allocate(8).putLong(OPTION_MAGIC));
      silent.assertClosed();
      slow.assertClosed();
    }
  }

  @Test
  void aBadRequestMagicEndsTheConnection() throws IOException {
    try (var client = connected(false)) {
      client.send(ByteBuffer.allocate(REQUEST_BYTES).putInt(REQUEST_MAGIC + 1).position(28));
      client.assertClosed();
    }
  }

  @Test
  void requestsOutOfRangeOrUnknownAreErrorsAndTheConnectionGoesOn() throws IOException {
    try (var client = connected(false)) {
      record Case(int command, int flags, long offset, int length, int error) {}
      var cases =
          new Case[] {
            new Case(CMD_READ, 0, SIZE - 1, 2, EINVAL),
            new Case(CMD_READ, 0, Long.MAX_VALUE, 1, EINVAL),
            new Case(CMD_READ, 0, -1, 1, EINVAL),
            new Case(CMD_READ, 0, 0, 0, EINVAL),
            new Case(CMD_READ, 0, 0, -1, EINVAL),
            new Case(CMD_READ, FLAG_DF, 0, 1, EINVAL),
            new Case(CMD_READ, 0x8000, 0, 1, EINVAL),
            new Case(CMD_TRIM, 0, SIZE, 1, EINVAL),
            new Case(CMD_CACHE, 0, SIZE, 1, EINVAL),
            new Case(CMD_WRITE_ZEROES, 0, 1, SIZE, ENOSPC),
            new Case(CMD_WRITE_ZEROES, 1 << 4, 0, 1, EINVAL), // FAST_ZERO is not offered
            new Case(CMD_BLOCK_STATUS, 0, 0, SIZE, EINVAL), // not negotiated
            new Case(CMD_FLUSH, 0, 1, 0, EINVAL),
            new Case(4711, 0, 0, 0, EINVAL),
          };
      for (Case one : cases) {
        client.send(request(one.command, one.flags, 5, one.offset, one.length));
        assertThat(client.simpleReply(5)).as("%s", one).isEqualTo(one.error);
      }
    }
  }

  @Test
  void aRefusedWriteIsReadOverAndTheNextRequestUnderstood() throws IOException {
    try (var client = connected(false)) {
      client.send(request(CMD_WRITE, 0, 1, SIZE - 10, 200_000));
      client.send(ByteBuffer.allocate(200_000).position(200_000));
      assertThat(client.simpleReply(1)).isEqualTo(ENOSPC);
      client.send(request(CMD_WRITE, 0, 2, 0, 4));
      client.send(ByteBuffer.allocate(4).putInt(0x01020304));
      assertThat(client.simpleReply(2)).isZero();
    }
    assertThat(bytes(0, 4)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void anAbsurdWriteEndsTheConnection() throws IOException {
    try (var client = connected(false)) {
      client.send(request(CMD_WRITE, 0, 1, 0, -1));
      client.assertClosed();
    }
  }

  @Test
  void errorsOfReadsAreChunksWhereRepliesAreStructured() throws IOException {
    try (var client = connected(true)) {
      client.send(request(CMD_READ, 0, 9, SIZE, 1));
      var chunk = client.chunk();
      assertThat(chunk.type()).isEqualTo(CHUNK_ERROR);
      assertThat(chunk.flags()).isEqualTo(CHUNK_DONE);
      assertThat(chunk.cookie()).isEqualTo(9);
      assertThat(chunk.data().getInt()).isEqualTo(EINVAL);
    }
  }

  @Test
  void aClientThatVanishesInTheMiddleOfAWriteHasWrittenNothing() throws Exception {
    device.write(0, ByteBuffer.wrap(new byte[] {42}));
    for (int length : new int[] {1000, 300_000}) {
      var client = connected(false);
      client.send(request(CMD_WRITE, 0, 1, 0, length));
      client.send(ByteBuffer.allocate(length / 2).position(length / 2));
      client.close();
    }
    try (var half = connected(false)) {
      half.send(ByteBuffer.allocate(10).putInt(REQUEST_MAGIC).position(10));
    }
    server.remove("disk"); // waits for all of them
    assertThat(bytes(0, 1)).containsExactly(42);
    server.add("disk", device);
    bystander = RawClient.connected(socket, "disk", false);
  }

  @Test
  void aClientThatTakesNoAnswersStopsOnlyItself() throws Exception {
    try (var client = connected(true)) {
      // 200 MiB of answers are more than sockets hold: this client's thread is stuck in a write.
      for (int i = 0; i < 200; i++) {
        client.send(request(CMD_READ, FLAG_DF, i, 0, SIZE));
      }
      try (var other = connected(false)) {
        other.send(request(CMD_READ, 0, 1, 0, SIZE));
        assertThat(other.simpleReply(1)).isZero();
        other.receive(SIZE);
      }
    }
  }

  @Test
  void manyRequestsInOneWriteAreAllAnswered() throws IOException {
    try (var client = connected(false)) {
      int count = 5000;
      ByteBuffer all = ByteBuffer.allocate(count * REQUEST_BYTES);
      for (int i = 0; i < count; i++) {
        all.put(request(i % 3 == 0 ? CMD_FLUSH : CMD_READ, 0, i, 0, i % 3 == 0 ? 0 : 8).flip());
      }
      var sender = Thread.ofPlatform().start(() -> sendUnchecked(client, all));
      boolean[] answered = new boolean[count];
      for (int i = 0; i < count; i++) {
        ByteBuffer reply = client.receive(SIMPLE_BYTES);
        assertThat(reply.getInt()).isEqualTo(SIMPLE_MAGIC);
        assertThat(reply.getInt()).isZero();
        int cookie = (int) reply.getLong();
        assertThat(answered[cookie]).isFalse();
        answered[cookie] = true;
        client.receive(cookie % 3 == 0 ? 0 : 8);
      }
      join(sender);
    }
  }

  @Test
  void aReadOnlyDeviceSaysSoToWriters() throws IOException {
    server.add("sealed", new ReadOnlyMemory(SIZE));
    try (var client = RawClient.connected(socket, "sealed", false)) {
      for (int command : new int[] {CMD_TRIM, CMD_WRITE_ZEROES}) {
        client.send(request(command, 0, 1, 0, 512));
        assertThat(client.simpleReply(1)).isEqualTo(EPERM);
      }
      client.send(request(CMD_WRITE, 0, 1, 0, 3));
      client.send(ByteBuffer.allocate(3).position(3));
      assertThat(client.simpleReply(1)).isEqualTo(EPERM);
    }
  }

  private byte[] bytes(long offset, int length) {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    device.read(offset, bytes);
    return bytes.array();
  }

  private static void sendUnchecked(RawClient client, ByteBuffer bytes) {
    try {
      client.send(bytes);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
