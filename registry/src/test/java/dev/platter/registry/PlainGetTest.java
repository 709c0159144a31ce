package dev.platter.registry;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers byte by byte as servers give them, and as none should. */
class PlainGetTest {
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final List<String> requests = Collections.synchronizedList(new ArrayList<>());
  private ServerSocket server;

  @BeforeEach
  void start() throws IOException {
    server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
  }

  /** Gives this answer to all who come; those before the last are cut off behind it, too. */
  private WebFiles answering(boolean silent, byte[]... parts) {
    Thread.ofVirtual()
        .start(
            () -> {
              while (!server.isClosed()) {
                try (var client = server.accept()) {
                  var head = new StringBuilder();
                  while (head.indexOf("\r\n\r\n") < 0) {
                    int c = client.getInputStream().read();
                    if (c < 0) {
                      throw new EOFException();
                    }
                    head.append((char) c);
                  }
                  requests.add(head.toString());
                  for (byte[] part : parts) {
                    client.getOutputStream().write(part);
                    client.getOutputStream().flush();
                  }
                  if (silent) {
                    client.getInputStream().read();
                  }
                } catch (IOException e) {
                  // The next one.
                }
              }
            });
    return new WebFiles(RegistrySettings.defaults(), Duration.ofMillis(1), PATIENCE);
  }

  private WebFiles answering(String text) {
    return answering(false, text.getBytes(ISO_8859_1));
  }

  private URI url() {
    return URI.create("http://127.0.0.1:" + server.getLocalPort() + "/a%20b?c=d");
  }

  private String text(WebFiles files) throws IOException {
    try (var bytes = files.getFrom(url(), 0, WebFiles.Version.UNKNOWN)) {
      return new String(bytes.body().readAllBytes(), ISO_8859_1);
    }
  }

  @Test
  void theFileIsAskedForAsItsAddressIsWritten() throws IOException {
    assertThat(text(answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more")))
        .isEqualTo("hello");
    assertThat(requests.getFirst())
        .startsWith("GET /a%20b?c=d HTTP/1.1\r\n")
        .contains("Host: 127.0.0.1:" + server.getLocalPort() + "\r\n")
        .contains("Accept-Encoding: identity\r\n");
  }

  @Test
  void chunksAreOneFileWhateverFollowsTheirLengthAndThemselves() throws IOException {
    var answer =
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"
            + "5;a=b\r\nhello\r\n00006 \r\n world\r\n0\r\nTrailer: x\r\n\r\n";
    assertThat(text(answering(answer))).isEqualTo("hello world");
  }

  @Test
  void manyBytesInPiecesOfAnyLengthAreTheSameToBothKindsOfBuffers() throws IOException {
    byte[] all = new byte[3_000_000];
    new Random(1).nextBytes(all);
    var head =
        ("HTTP/1.1 200 OK\r\nContent-Length: " + all.length + "\r\n\r\n").getBytes(ISO_8859_1);
    var files =
        answering(
            false,
            Arrays.copyOf(head, 20),
            Arrays.copyOfRange(head, 20, head.length),
            Arrays.copyOf(all, 7),
            Arrays.copyOfRange(all, 7, all.length));
    try (var bytes = files.getFrom(url(), 0, WebFiles.Version.UNKNOWN)) {
      var body = (PlainBody) bytes.body();
      var direct = ByteBuffer.allocateDirect(all.length + 1);
      var heap = new byte[1000];
      for (int n; direct.position() < 10_000 && (n = body.read(heap)) >= 0; ) {
        direct.put(heap, 0, n);
      }
      while (body.read(direct) >= 0) {}
      assertThat(direct.flip()).isEqualTo(ByteBuffer.wrap(all));
      assertThat(body.read(direct.clear())).isEqualTo(-1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello world\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"
      })
  void aFileThatIsCutShortOrDoesNotFitIsBroken(String answer) {
    assertThatThrownBy(() -> text(answering(answer)))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("the connection broke after")
        .extracting(e -> ((RegistryException) e).kind())
        .isEqualTo(RegistryException.Kind.UNAVAILABLE);
  }

  /** Who goes on with another connection has counted what it was given, and nothing else. */
  @Test
  void noByteIsGivenByAReadThatFails() throws IOException {
    var answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello";
    try (var bytes = answering(answer).getFrom(url(), 0, WebFiles.Version.UNKNOWN)) {
      var body = (PlainBody) bytes.body();
      var into = ByteBuffer.allocate(100);
      while (into.position() < 5) {
        body.read(into);
      }
      assertThatThrownBy(() -> body.read(into)).isInstanceOf(RegistryException.class);
      assertThat(into.position()).isEqualTo(5);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "HTTP/1.1 200 OK\r\nETag: \"a\u0001b\"\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Len",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nhello"
      })
  void whatIsNoAnswerOrCouldBeTwoIsRefused(String answer) {
    assertThatThrownBy(() -> text(answering(answer))).isInstanceOf(RegistryException.class);
  }

  @Test
  void aHeadThatDoesNotEndIsRefused() {
    assertThatThrownBy(() -> text(answering("HTTP/1.1 200 OK\r\nA: " + "x".repeat(100_000))))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("too long");
    assertThatThrownBy(() -> text(answering("HTTP/1.1 100 Continue\r\n\r\n".repeat(100))))
        .isInstanceOf(RegistryException.class);
  }

  @Test
  void whatAHeadIsPaddedWithCounts() {
    var padded = "HTTP/1.1 200 OK\r\n" + ("A:" + " ".repeat(10_000) + "\r\n").repeat(10);
    assertThatThrownBy(() -> text(answering(padded + "Content-Length: 0\r\n\r\n")))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("too long");
  }

  @Test
  void aServerThatDoesNotReadTheRequestIsGivenUp() {
    var address = url() + "x".repeat(16 << 20);
    var files = new WebFiles(RegistrySettings.defaults(), Duration.ofMillis(1), PATIENCE);
    assertThatThrownBy(
            () -> files.getFrom(URI.create(address), 0, WebFiles.Version.UNKNOWN).close())
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("no answer for 1 s");
  }

  @Test
  void aServerThatGoesSilentIsGivenUp() {
    var part = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".getBytes(ISO_8859_1);
    assertThatThrownBy(() -> text(answering(true, part)))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("nothing came for 1 s after 5 bytes");
  }

  @Test
  void whoIsInterruptedWaitsNoMore() throws Exception {
    var part = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".getBytes(ISO_8859_1);
    var files =
        new WebFiles(RegistrySettings.defaults(), Duration.ofMillis(1), Duration.ofHours(1));
    answering(true, part);
    var result = new CompletableFuture<Throwable>();
    var thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    text(files);
                    result.complete(new AssertionError("it ended"));
                  } catch (Throwable e) {
                    result.complete(Thread.currentThread().isInterrupted() ? e : new Exception(e));
                  }
                });
    while (requests.isEmpty()) {
      Thread.sleep(10);
    }
    thread.interrupt();
    assertThat(result.get(1, TimeUnit.MINUTES)).isInstanceOf(InterruptedIOException.class);
  }

  @Test
  void whoClosesAFileEndsTheWaitForIt() throws Exception {
    var part = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".getBytes(ISO_8859_1);
    answering(true, part);
    var files =
        new WebFiles(RegistrySettings.defaults(), Duration.ofMillis(1), Duration.ofHours(1));
    var bytes = files.getFrom(url(), 0, WebFiles.Version.UNKNOWN);
    assertThat(bytes.body().readNBytes(5)).asString(ISO_8859_1).isEqualTo("hello");
    var result = new CompletableFuture<Integer>();
    var reader =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    result.complete(bytes.body().read());
                  } catch (Throwable e) {
                    result.completeExceptionally(e);
                  }
                });
    while (reader.getState() != Thread.State.RUNNABLE) {
      Thread.sleep(1);
    }
    Thread.sleep(100);
    bytes.close();
    assertThat(result)
        .failsWithin(Duration.ofMinutes(1))
        .withThrowableThat()
        .withCauseInstanceOf(IOException.class);
  }
}
