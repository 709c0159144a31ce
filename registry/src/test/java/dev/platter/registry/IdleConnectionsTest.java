package dev.platter.registry;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which connections to a registry are used again. */
class IdleConnectionsTest {
  private static final String HELLO = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

  private final List<Socket> clients = Collections.synchronizedList(new ArrayList<>());
  private final Semaphore accepted = new Semaphore(0);
  private final Transport transport =
      new Transport(RegistrySettings.defaults(), Duration.ofMillis(1), Duration.ofSeconds(2));
  private ServerSocket server;

  @BeforeEach
  void start() throws IOException {
    server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void stop() throws IOException {
    server.close();
    for (var client : clients) {
      client.close();
    }
  }

  /** Each connection gives so many answers; the request behind the last one closes it. */
  private void answering(int answers, String... parts) {
    Thread.ofVirtual()
        .start(
            () -> {
              while (!server.isClosed()) {
                try {
                  var client = server.accept();
                  clients.add(client);
                  accepted.release();
                  Thread.ofVirtual().start(() -> answer(client, answers, parts));
                } catch (IOException e) {
                  // Closed.
                }
              }
            });
  }

  private static void answer(Socket client, int answers, String... parts) {
    try (client) {
      for (int i = 0; request(client) && i < answers; i++) {
        for (var part : parts) {
          client.getOutputStream().write(part.getBytes(ISO_8859_1));
          client.getOutputStream().flush();
          Thread.sleep(20); // so that they come one by one
        }
      }
    } catch (IOException | InterruptedException e) {
      // The client has gone.
    }
  }

  private static boolean request(Socket client) throws IOException {
    var head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int c = client.getInputStream().read();
      if (c < 0) {
        return false;
      }
      head.append((char) c);
    }
    return true;
  }

  private URI url() {
    return URI.create("http://127.0.0.1:" + server.getLocalPort() + "/v2/");
  }

  private String get() throws IOException {
    try (var body = transport.send(Call.get(url(), "*/*"), null).body()) {
      return new String(body.readAllBytes(), ISO_8859_1);
    }
  }

  @Test
  void requestsOneAfterAnotherShareAConnection() throws IOException {
    answering(9, HELLO);
    for (int i = 0; i < 3; i++) {
      assertThat(get()).isEqualTo("hello");
    }
    assertThat(clients).hasSize(1);
  }

  @Test
  void aBodyThatComesLaterInPiecesLeavesItsConnectionToTheNext() throws IOException {
    answering(
        9,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5\r\nhello\r\n",
        "0\r\n",
        "\r\n");
    assertThat(get()).isEqualTo("hello");
    assertThat(get()).isEqualTo("hello");
    assertThat(clients).hasSize(1);
  }

  @Test
  void whoHasReadAllBytesNeedNotSeeTheirEnd() throws IOException {
    answering(9, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello");
    for (int i = 0; i < 2; i++) {
      try (var body = transport.send(Call.get(url(), "*/*"), null).body()) {
        assertThat(new String(body.readNBytes(5), ISO_8859_1)).isEqualTo("hello");
      }
    }
    assertThat(clients).hasSize(1);
  }

  @Test
  void aBodyThatNobodyWantedEndsItsConnection() throws IOException {
    answering(9, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello");
    transport.send(Call.get(url(), "*/*"), null).body().close();
    assertThat(get()).isEqualTo("hello");
    assertThat(clients).hasSize(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more"
      })
  void aConnectionThatIsNotGoodForMoreIsNotUsedAgain(String answer) throws IOException {
    answering(9, answer);
    assertThat(get()).isEqualTo("hello");
    assertThat(get()).isEqualTo("hello");
    assertThat(clients).hasSize(2);
  }

  @Test
  void aServerThatClosesInsteadOfASecondAnswerIsAskedAnewAtOnce() throws IOException {
    var impatient =
        new Transport(RegistrySettings.defaults(), Duration.ofDays(1), Duration.ofSeconds(2));
    answering(1, HELLO);
    for (int i = 0; i < 2; i++) {
      try (var body = impatient.send(Call.get(url(), "*/*"), null).body()) {
        assertThat(body.readAllBytes()).hasSize(5);
      }
    }
    assertThat(clients).hasSize(2);
  }

  @Test
  void aConnectionThatWasPreparedIsUsedByTheNextRequest() throws Exception {
    answering(9, HELLO);
    assertThat(transport.prepare(url())).isTrue();
    assertThat(accepted.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
    assertThat(get()).isEqualTo("hello");
    assertThat(clients).hasSize(1);
  }

  @Test
  void noConnectionIsPreparedToWhereNoRequestMayGo() {
    var strict =
        new Transport(
            RegistrySettings.defaults().restrictedTo(AddressPolicy.internetAnd(List.of())),
            Duration.ofMillis(1),
            Duration.ofSeconds(2));
    assertThatThrownBy(() -> strict.prepare(url())).isInstanceOf(RegistryException.class);
    assertThatThrownBy(() -> transport.prepare(URI.create("http://example.com/v2/")))
        .isInstanceOf(RegistryException.class);
  }
}
