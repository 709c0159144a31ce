package dev.platter.node.fill;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.registry.RegistryException;
import dev.platter.registry.RegistrySettings;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A file that comes in several answers has each of its bytes once, or is refused. */
class WebStreamTest {
  private static final String CUT_CHUNK =
      "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello";
  private static final String REST =
      "HTTP/1.1 206 Partial\r\nETag: \"a\"\r\nContent-Range: bytes 5-10/11\r\n";

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

  /** What a reader has whose buffer is not empty when it begins. */
  private String read(String... answers) throws IOException {
    Thread.ofVirtual().start(() -> answer(answers));
    var url = URI.create("http://127.0.0.1:" + server.getLocalPort() + "/disk");
    var into = ByteBuffer.allocate(100).put((byte) '>');
    try (var stream = WebStream.open(new WebFiles(RegistrySettings.defaults()), url)) {
      while (stream.read(into) >= 0) {}
    }
    return new String(into.array(), 0, into.position(), ISO_8859_1);
  }

  private void answer(String... answers) {
    for (var answer : answers) {
      try (var client = server.accept()) {
        var head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
          head.append((char) client.getInputStream().read());
        }
        requests.add(head.toString());
        client.getOutputStream().write(answer.getBytes(ISO_8859_1));
      } catch (IOException e) {
        // The next one.
      }
    }
  }

  @Test
  void aChunkThatIsCutBehindItsBytesIsNotTakenTwice() throws IOException {
    assertThat(read(CUT_CHUNK, REST + "Content-Length: 6\r\n\r\n world")).isEqualTo(">hello world");
    assertThat(requests.get(1)).contains("Range: bytes=5-\r\n", "If-Range: \"a\"\r\n");
  }

  @Test
  void aRestThatIsShorterThanItSaysIsAskedForOnceMore() throws IOException {
    var last =
        "HTTP/1.1 206 Partial\r\nETag: \"a\"\r\nContent-Range: bytes 8-10/11\r\nContent-Length: 3\r\n\r\nrld";
    assertThat(read(CUT_CHUNK, REST + "Content-Length: 3\r\n\r\n wo", last))
        .isEqualTo(">hello world");
  }

  @ParameterizedTest
  @ValueSource(strings = {REST + "\r\n world", REST + "\r\n wo"})
  void aRestOfWhichNobodyCanTellWhetherItIsWholeIsRefused(String rest) {
    assertThatThrownBy(() -> read(CUT_CHUNK, rest))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("without a length");
  }
}
