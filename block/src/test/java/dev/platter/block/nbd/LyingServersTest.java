package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.Extent;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Servers that lie, stall and vanish: each ends in one error that says what was wrong. */
@Timeout(60)
class LyingServersTest {
  private static final int SIZE = 1 << 20;
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofMillis(200);

  @TempDir Path directory;
  private ServerSocketChannel listener;
  private UnixDomainSocketAddress address;

  @BeforeEach
  void listen() throws IOException {
    address = UnixDomainSocketAddress.of(directory.resolve("nbd.sock"));
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(address);
  }

  @AfterEach
  void close() throws IOException {
    listener.close();
  }

  /** What a server does with its one client. */
  interface Script {
    void with(SocketChannel client) throws Exception;
  }

  private void serve(Script script) {
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try (SocketChannel client = listener.accept()) {
                script.with(client);
              } catch (Exception gone) {
                // The client has seen enough.
              }
            });
  }

  private static void say(SocketChannel client, ByteBuffer... messages) throws IOException {
    for (ByteBuffer message : messages) {
      client.write(message.flip());
    }
  }

  private static void listenToTheEnd(SocketChannel client) throws IOException {
    while (client.read(ByteBuffer.allocate(1000)) >= 0) {}
  }

  private static ByteBuffer hello() {
    return ByteBuffer.allocate(18)
        .putLong(INIT_MAGIC)
        .putLong(OPTION_MAGIC)
        .putShort((short) (FIXED_NEWSTYLE | NO_ZEROES));
  }

  private static ByteBuffer optionReply(int option, int type, ByteBuffer data) {
    data.flip();
    return ByteBuffer.allocate(20 + data.remaining())
        .putLong(OPTION_REPLY_MAGIC)
        .putInt(option)
        .putInt(type)
        .putInt(data.remaining())
        .put(data);
  }

  private static ByteBuffer nothing() {
    return ByteBuffer.allocate(0);
  }

  private static ByteBuffer export(long size) {
    return export(size, HAS_FLAGS);
  }

  private static ByteBuffer export(long size, int flags) {
    return ByteBuffer.allocate(12).putShort((short) 0).putLong(size).putShort((short) flags);
  }

  private static ByteBuffer blockSizes(int least, int most) {
    return ByteBuffer.allocate(14).putShort((short) 3).putInt(least).putInt(4096).putInt(most);
  }

  /** All that is agreed before the first request: structured replies with a map. */
  private static ByteBuffer[] agreed() {
    byte[] name = ALLOCATION.getBytes(UTF_8);
    return new ByteBuffer[] {
      hello(),
      optionReply(OPT_STRUCTURED_REPLY, REP_ACK, nothing()),
      optionReply(
          OPT_SET_META_CONTEXT,
          REP_META_CONTEXT,
          ByteBuffer.allocate(4 + name.length).putInt(5).put(name)),
      optionReply(OPT_SET_META_CONTEXT, REP_ACK, nothing()),
      optionReply(OPT_GO, REP_INFO, export(SIZE)),
      optionReply(OPT_GO, REP_ACK, nothing())
    };
  }

  private static ByteBuffer chunk(int flags, int type, long cookie, ByteBuffer data) {
    data.flip();
    return head(flags, type, cookie, data.remaining(), data.remaining()).put(data);
  }

  private static ByteBuffer head(int flags, int type, long cookie, int length, int room) {
    return ByteBuffer.allocate(CHUNK_BYTES + room)
        .putInt(CHUNK_MAGIC)
        .putShort((short) flags)
        .putShort((short) type)
        .putLong(cookie)
        .putInt(length);
  }

  private NbdClient connect() throws IOException {
    return NbdClient.connect(address, "", LONG, LONG);
  }

  private void refusedAtOnce(String why, ByteBuffer... messages) {
    serve(
        client -> {
          say(client, messages);
          listenToTheEnd(client);
        });
    assertThatThrownBy(this::connect).isInstanceOf(IOException.class).hasMessageContaining(why);
  }

  /** The first request is a read of 100 bytes at 1000, with the cookie 1. */
  private void refusedOnReading(String why, ByteBuffer... replies) throws IOException {
    serve(
        client -> {
          say(client, agreed());
          say(client, replies);
          listenToTheEnd(client);
        });
    try (var client = connect()) {
      assertThatThrownBy(() -> client.read(1000, ByteBuffer.allocate(100)))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(why);
    }
  }

  private void refusedOnMapping(String why, ByteBuffer... replies) throws IOException {
    serve(
        client -> {
          say(client, agreed());
          say(client, replies);
          listenToTheEnd(client);
        });
    try (var client = connect()) {
      assertThatThrownBy(() -> client.extents(0, SIZE))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(why);
    }
  }

  @Test
  void somethingThatIsNoNbdServerIsTurnedAway() {
    refusedAtOnce(
        "no NBD server",
        ByteBuffer.wrap("SSH-2.0-OpenSSH_9.2p1 Debian".getBytes(UTF_8)).position(28));
  }

  @Test
  void anOldServerIsTurnedAway() {
    refusedAtOnce(
        "fixed newstyle",
        ByteBuffer.allocate(18).putLong(INIT_MAGIC).putLong(OPTION_MAGIC).putShort((short) 0));
  }

  @Test
  void anAnswerToAnOptionThatWasNotAskedIsRefused() {
    refusedAtOnce("something else", hello(), optionReply(OPT_GO, REP_ACK, nothing()));
  }

  @Test
  void anAnswerOfGigabytesIsRefusedUnread() {
    refusedAtOnce(
        "an answer of 4294967295 bytes",
        hello(),
        ByteBuffer.allocate(20)
            .putLong(OPTION_REPLY_MAGIC)
            .putInt(OPT_STRUCTURED_REPLY)
            .putInt(REP_ACK)
            .putInt(-1));
  }

  @Test
  void informationWithoutEndIsRefused() {
    serve(
        client -> {
          say(client, agreed()[0], agreed()[1], agreed()[2], agreed()[3]);
          while (true) {
            say(client, optionReply(OPT_GO, REP_INFO, export(SIZE)));
          }
        });
    assertThatThrownBy(this::connect).hasMessageContaining("without end");
  }

  @Test
  void impossibleSizesAreRefused() {
    ByteBuffer[] start = agreed();
    refusedAtOnce(
        "size or flags",
        start[0],
        start[1],
        start[2],
        start[3],
        optionReply(OPT_GO, REP_INFO, export(-1)));
    ByteBuffer[] again = agreed();
    refusedAtOnce(
        "block sizes",
        again[0],
        again[1],
        again[2],
        again[3],
        optionReply(OPT_GO, REP_INFO, blockSizes(3, 4096)));
    ByteBuffer[] third = agreed();
    refusedAtOnce(
        "did not tell the size",
        third[0],
        third[1],
        third[2],
        third[3],
        optionReply(OPT_GO, REP_ACK, nothing()));
  }

  @Test
  void whatTheServerSaysIsShownOnOneLine() {
    ByteBuffer[] start = agreed();
    refusedAtOnce(
        "refuses the export '' (not allowed): go [31maway",
        start[0],
        start[1],
        start[2],
        start[3],
        optionReply(
            OPT_GO,
            REP_ERR_POLICY,
            ByteBuffer.wrap("go\n\u001b[31maway".getBytes(UTF_8)).position(12)));
  }

  @Test
  void silenceEndsTheConnectionBeforeAndAfterItIsMade() throws IOException {
    serve(LyingServersTest::listenToTheEnd);
    assertThatThrownBy(() -> NbdClient.connect(address, "", SHORT, LONG))
        .hasMessage("the server did not answer within 200 ms");
    serve(
        client -> {
          say(client, agreed());
          listenToTheEnd(client);
        });
    try (var client = NbdClient.connect(address, "", LONG, SHORT)) {
      assertThatThrownBy(() -> client.read(0, ByteBuffer.allocate(1)))
          .hasMessage("the server did not answer within 200 ms");
    }
  }

  @Test
  void aServerThatDripsIsAsGoodAsSilent() throws IOException {
    serve(
        client -> {
          say(client, agreed());
          say(client, head(0, CHUNK_OFFSET_DATA, 1, SIZE + 8, 8).putLong(0));
          while (true) {
            say(client, ByteBuffer.allocate(1).put((byte) 1));
            Thread.sleep(10);
          }
        });
    try (var client = NbdClient.connect(address, "", LONG, SHORT)) {
      assertThatThrownBy(() -> client.read(0, ByteBuffer.allocate(SIZE)))
          .hasMessage("the server did not answer within 200 ms");
    }
  }

  @Test
  void aReplyThatIsCutOffIsAnError() throws IOException {
    serve(
        client -> {
          say(client, agreed());
          say(client, head(CHUNK_DONE, CHUNK_OFFSET_DATA, 1, 108, 50).putLong(1000).putLong(7));
          client.shutdownOutput();
          listenToTheEnd(client);
        });
    try (var client = connect()) {
      assertThatThrownBy(() -> client.read(1000, ByteBuffer.allocate(100)))
          .hasMessage("the connection ended within a message");
    }
  }

  @Test
  void moreOrLessOrOtherBytesThanWereAskedForAreRefused() throws IOException {
    String wrong = "a wrong reply to a read of 100 bytes at 1000";
    refusedOnReading(
        wrong,
        chunk(
            CHUNK_DONE,
            CHUNK_OFFSET_DATA,
            1,
            ByteBuffer.allocate(109).putLong(1000).position(109)));
    refusedOnReading(
        wrong,
        chunk(
            CHUNK_DONE,
            CHUNK_OFFSET_DATA,
            1,
            ByteBuffer.allocate(107).putLong(1000).position(107)));
    refusedOnReading(
        wrong,
        chunk(
            CHUNK_DONE, CHUNK_OFFSET_DATA, 1, ByteBuffer.allocate(108).putLong(999).position(108)));
    refusedOnReading(wrong, head(CHUNK_DONE, CHUNK_OFFSET_DATA, 1, -1, 8).putLong(1000));
    refusedOnReading(
        wrong, head(CHUNK_DONE, CHUNK_OFFSET_DATA, 1, Integer.MAX_VALUE, 8).putLong(1000));
    refusedOnReading(
        wrong,
        chunk(CHUNK_DONE, CHUNK_OFFSET_HOLE, 1, ByteBuffer.allocate(12).putLong(1000).putInt(101)));
    refusedOnReading(
        wrong,
        chunk(CHUNK_DONE, CHUNK_OFFSET_HOLE, 1, ByteBuffer.allocate(12).putLong(1000).putInt(-1)));
    refusedOnReading(wrong, chunk(CHUNK_DONE, CHUNK_NONE, 1, nothing()));
    refusedOnReading(
        wrong,
        chunk(
            CHUNK_DONE,
            CHUNK_BLOCK_STATUS,
            1,
            ByteBuffer.allocate(12).putInt(5).putInt(1).putInt(0)));
  }

  @Test
  void partsThatBringNothingAreRefusedSoThatNoReplyIsEndless() throws IOException {
    String wrong = "a wrong reply to a read of 100 bytes at 1000";
    refusedOnReading(wrong, chunk(0, CHUNK_NONE, 1, nothing()));
    refusedOnReading(wrong, chunk(0, CHUNK_OFFSET_DATA, 1, ByteBuffer.allocate(8).putLong(1000)));
    refusedOnReading(
        wrong, chunk(0, CHUNK_OFFSET_HOLE, 1, ByteBuffer.allocate(12).putLong(1000).putInt(0)));
    ByteBuffer error = error(5);
    refusedOnReading(
        wrong,
        chunk(0, CHUNK_ERROR, 1, error),
        chunk(0, CHUNK_ERROR, 1, error.duplicate().position(6)));
  }

  @Test
  void repliesThatWereNotAgreedOnOrNotAskedForAreRefused() throws IOException {
    refusedOnReading("no reply", ByteBuffer.allocate(20).putInt(0x12345678).position(20));
    refusedOnReading("not made", chunk(CHUNK_DONE, CHUNK_NONE, 2, nothing()));
    refusedOnReading(
        "a simple reply", ByteBuffer.allocate(16).putInt(SIMPLE_MAGIC).putInt(0).putLong(1));
    refusedOnReading("a wrong reply", chunk(CHUNK_DONE, 77, 1, nothing()));
  }

  @Test
  void anErrorIsToldWithTheServersWords() throws IOException {
    byte[] text = "disk on\tfire".getBytes(UTF_8);
    refusedOnReading(
        "a read of 100 bytes at 1000 with error 5: disk on fire",
        chunk(
            CHUNK_DONE,
            CHUNK_ERROR_OFFSET,
            1,
            ByteBuffer.allocate(14 + text.length)
                .putInt(5)
                .putShort((short) text.length)
                .put(text)
                .putLong(1000)));
    refusedOnReading(
        "a wrong reply",
        chunk(CHUNK_DONE, CHUNK_ERROR, 1, ByteBuffer.allocate(6).putInt(5).putShort((short) 9)));
  }

  @Test
  void aReadThatIsTooLargeForOnePieceIsAskedForAgainAndMayComeInSeveral() throws Exception {
    var heard = new CompletableFuture<ByteBuffer>();
    serve(
        client -> {
          ByteBuffer[] start = agreed();
          start[4] = optionReply(OPT_GO, REP_INFO, export(SIZE, HAS_FLAGS | SEND_DF));
          say(client, start);
          say(client, chunk(CHUNK_DONE, CHUNK_ERROR, 1, error(ERROR_OVERFLOW)));
          say(client, head(0, CHUNK_OFFSET_DATA, 2, 68, 68).putLong(1000).put(new byte[60]));
          say(client, head(CHUNK_DONE, CHUNK_OFFSET_DATA, 2, 48, 48).putLong(1060).position(68));
          ByteBuffer all = ByteBuffer.allocate(1000);
          while (client.read(all) >= 0) {}
          heard.complete(all.flip());
        });
    ByteBuffer bytes = ByteBuffer.allocate(100);
    try (var client = connect()) {
      client.read(1000, bytes);
    }
    assertThat(bytes.remaining()).isZero();
    ByteBuffer all = heard.get();
    int first = all.limit() - 3 * REQUEST_BYTES; // the last one is the goodbye
    assertThat(all.getInt(first + 4)).isEqualTo(FLAG_DF << 16 | CMD_READ);
    assertThat(all.getInt(first + REQUEST_BYTES + 4)).isEqualTo(CMD_READ);
  }

  @Test
  void tooLargeIsNoAnswerToAReadThatMayComeInSeveralPieces() throws IOException {
    refusedOnReading(
        "a read of 100 bytes at 1000 with error 75",
        chunk(CHUNK_DONE, CHUNK_ERROR, 1, error(ERROR_OVERFLOW)));
  }

  private static ByteBuffer error(int number) {
    return ByteBuffer.allocate(6).putInt(number).putShort((short) 0);
  }

  @Test
  void mapsThatAreEmptyOrHugeOrOfSomethingElseAreRefused() throws IOException {
    String wrong = "a wrong reply to the map";
    refusedOnMapping(
        wrong,
        chunk(CHUNK_DONE, CHUNK_BLOCK_STATUS, 1, ByteBuffer.allocate(12).putInt(5).putLong(0)));
    refusedOnMapping(
        wrong,
        chunk(
            CHUNK_DONE,
            CHUNK_BLOCK_STATUS,
            1,
            ByteBuffer.allocate(12).putInt(6).putInt(SIZE).putInt(0)));
    refusedOnMapping(
        wrong, chunk(CHUNK_DONE, CHUNK_BLOCK_STATUS, 1, ByteBuffer.allocate(4).putInt(5)));
    refusedOnMapping(wrong, head(CHUNK_DONE, CHUNK_BLOCK_STATUS, 1, 0x7ffffff4, 4).putInt(5));
    refusedOnMapping(wrong, chunk(CHUNK_DONE, CHUNK_NONE, 1, nothing()));
    refusedOnMapping(
        "data instead of the map",
        chunk(CHUNK_DONE, CHUNK_OFFSET_DATA, 1, ByteBuffer.allocate(12).putLong(0).putInt(0)));
  }

  @Test
  void aHoleThatMayHoldAnythingIsDataAndTheMapEndsWhereTheQuestionDid() throws IOException {
    serve(
        client -> {
          say(client, agreed());
          ByteBuffer runs = ByteBuffer.allocate(20).putInt(5);
          runs.putInt(4096).putInt(STATE_HOLE).putInt(-1).putInt(STATE_ZERO);
          say(client, chunk(CHUNK_DONE, CHUNK_BLOCK_STATUS, 1, runs));
          listenToTheEnd(client);
        });
    try (var client = connect()) {
      assertThat(client.extents(0, 10_000))
          .containsExactly(
              new Extent(4096, Extent.Kind.DATA), new Extent(10_000 - 4096, Extent.Kind.HOLE));
    }
  }
}
