package dev.platter.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.bench.ShapedLink.Shape;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What goes through a link comes out as it was, and is counted to the byte. */
class ShapedLinkTest {
  private static final Shape FAST = new Shape(0, Duration.ZERO);
  private static final Shape FAR = new Shape(20_000_000, Duration.ofMillis(4));

  private ServerSocket server;

  @BeforeEach
  void listen() throws IOException {
    server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void close() throws IOException {
    server.close();
  }

  private String address() {
    return "127.0.0.1:" + server.getLocalPort();
  }

  /** Answers every connection with all that it said, twice, when it has said all. */
  private void echoTwice() {
    Thread.ofVirtual()
        .start(
            () -> {
              while (!server.isClosed()) {
                try (var connection = server.accept()) {
                  var said = connection.getInputStream().readAllBytes();
                  connection.getOutputStream().write(said);
                  connection.getOutputStream().write(said);
                } catch (IOException e) {
                  return;
                }
              }
            });
  }

  private static byte[] ask(ShapedLink link, byte[] words) throws IOException {
    try (var socket = new Socket("127.0.0.1", port(link))) {
      socket.getOutputStream().write(words);
      socket.shutdownOutput();
      return socket.getInputStream().readAllBytes();
    }
  }

  private static int port(ShapedLink link) {
    return Integer.parseInt(link.address().split(":")[1]);
  }

  private static byte[] words(int seed, int length) {
    var bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static byte[] twice(byte[] words) {
    var out = Arrays.copyOf(words, 2 * words.length);
    System.arraycopy(words, 0, out, words.length, words.length);
    return out;
  }

  @Test
  void bytesComeOutAsTheyWentInAndOnlyThoseOfTheServerCount() throws IOException {
    echoTwice();
    for (var shape : new Shape[] {FAST, FAR}) {
      try (var link = new ShapedLink(address(), shape)) {
        var words = words(1, 1_000_003);
        assertThat(ask(link, words)).isEqualTo(twice(words));
        assertThat(link.bytes()).isEqualTo(2_000_006);
        assertThat(link.connections()).isEqualTo(1);
      }
    }
  }

  @Test
  void connectionsShareTheLineAndKeepTheirBytesApart() throws Exception {
    echoTwice();
    try (var link = new ShapedLink(address(), FAR);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var answers = new ArrayList<Future<byte[]>>();
      for (var i = 0; i < 5; i++) {
        var words = words(i, 100_000 + i);
        Callable<byte[]> call = () -> ask(link, words);
        answers.add(threads.submit(call));
      }
      for (var i = 0; i < 5; i++) {
        assertThat(answers.get(i).get()).isEqualTo(twice(words(i, 100_000 + i)));
      }
      assertThat(link.connections()).isEqualTo(5);
      assertThat(link.bytes()).isEqualTo(2 * (5 * 100_000 + 0 + 1 + 2 + 3 + 4));
    }
  }

  /** More than is ever on its way: the server must wait, not the link's memory grow or lose it. */
  @Test
  void aClientThatReadsLateGetsAllOfALongAnswer() throws Exception {
    var answer = words(7, 32 << 20);
    Thread.ofVirtual()
        .start(
            () -> {
              try (var connection = server.accept()) {
                connection.getOutputStream().write(answer);
              } catch (IOException e) {
                // The test fails by what is missing.
              }
            });
    try (var link = new ShapedLink(address(), FAST);
        var socket = new Socket("127.0.0.1", port(link))) {
      var before = -1L;
      while (link.bytes() != before) {
        before = link.bytes();
        Thread.sleep(200);
      }
      assertThat(before).isLessThan(answer.length);
      assertThat(socket.getInputStream().readAllBytes()).isEqualTo(answer);
      assertThat(link.bytes()).isEqualTo(answer.length);
    }
  }

  @Test
  void aServerThatIsNotThereEndsTheConnection() throws IOException {
    server.close();
    try (var link = new ShapedLink(address(), FAST);
        var socket = new Socket("127.0.0.1", port(link))) {
      assertThat(endOf(socket)).isTrue();
      assertThat(link.bytes()).isZero();
    }
  }

  private static boolean endOf(Socket socket) {
    try {
      return socket.getInputStream().read() < 0;
    } catch (IOException e) {
      return true; // reset
    }
  }
}
