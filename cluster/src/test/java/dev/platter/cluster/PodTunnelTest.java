package dev.platter.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The API server is one that can only forward; with a real one it is tried by uploads. */
@Timeout(60)
class PodTunnelTest {
  private static final int LENGTH = 4 << 20;

  private ServerSocket server;
  private KubernetesClient client;

  @BeforeEach
  void start() throws IOException {
    server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
    server.setReceiveBufferSize(8 << 10);
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder(Config.empty())
                    .withMasterUrl("http://127.0.0.1:" + server.getLocalPort())
                    .build())
            .build();
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    server.close();
  }

  /** A WebSocket's server, of what is needed here. */
  private record Pod(DataInputStream in, OutputStream out) {
    static Pod accept(ServerSocket server, String answer) throws Exception {
      var socket = server.accept();
      socket.setSoTimeout(20_000);
      var in = new DataInputStream(socket.getInputStream());
      var head = new StringBuilder();
      while (!head.toString().endsWith("\r\n\r\n")) {
        head.append((char) in.readUnsignedByte());
      }
      assertThat(head).contains("/api/v1/namespaces/shop/pods/web/portforward?ports=8443");
      var key = head.toString().replaceFirst("(?si).*Sec-WebSocket-Key: (\\S+).*", "$1");
      socket
          .getOutputStream()
          .write(answer.formatted(accepted(key)).getBytes(StandardCharsets.US_ASCII));
      return new Pod(in, socket.getOutputStream());
    }

    private static String accepted(String key) throws GeneralSecurityException {
      var text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
      var sha1 = MessageDigest.getInstance("SHA-1");
      return Base64.getEncoder()
          .encodeToString(sha1.digest(text.getBytes(StandardCharsets.US_ASCII)));
    }

    void say(int... bytes) throws IOException {
      out.write(0x82);
      out.write(bytes.length);
      for (var it : bytes) {
        out.write(it);
      }
      out.flush();
    }

    /** The next message, without the number of its channel. */
    byte[] hear() throws IOException {
      assertThat(in.readUnsignedByte()).as("a whole binary message").isEqualTo(0x82);
      int length = in.readUnsignedByte() & 0x7f;
      if (length == 126) {
        length = in.readUnsignedShort();
      }
      var mask = in.readNBytes(4);
      var bytes = in.readNBytes(length);
      for (int i = 0; i < length; i++) {
        bytes[i] ^= mask[i % 4];
      }
      assertThat(bytes[0]).as("the channel of data").isZero();
      return Arrays.copyOfRange(bytes, 1, length);
    }
  }

  private static final String SWITCHING =
      """
      HTTP/1.1 101 Switching Protocols\r
      Upgrade: websocket\r
      Connection: Upgrade\r
      Sec-WebSocket-Accept: %s\r
      Sec-WebSocket-Protocol: v4.channel.k8s.io\r
      \r
      """;

  /** The pod is slower than who sends, which is when bytes get lost. */
  @Test
  void allBytesArriveInOrderAndAreAnswered() throws Exception {
    var sent = new byte[LENGTH];
    new Random(7).nextBytes(sent);
    try (var tunnel = PodTunnel.open(client, "shop", "web", 8443);
        var near = new Socket(InetAddress.getLoopbackAddress(), tunnel.port())) {
      var answered = new FutureTask<>(() -> answer(near, sent));
      Thread.ofVirtual().start(answered);
      var pod = Pod.accept(server, SWITCHING);
      pod.say(0, 0xfb, 0x20);
      pod.say(1, 0xfb, 0x20);
      var came = new byte[LENGTH];
      for (int at = 0; at < LENGTH; ) {
        var piece = pod.hear();
        System.arraycopy(piece, 0, came, at, piece.length);
        at += piece.length;
        Thread.sleep(1);
      }
      assertThat(came).isEqualTo(sent);
      pod.say(0, 'o', 'k');
      assertThat(answered.get(20, TimeUnit.SECONDS)).isEqualTo("ok");
    }
  }

  private static String answer(Socket near, byte[] sent) throws IOException {
    near.getOutputStream().write(sent);
    return new String(near.getInputStream().readNBytes(2), StandardCharsets.US_ASCII);
  }

  @Test
  void whatThePodsEndSaysIsTold() throws Exception {
    try (var tunnel = PodTunnel.open(client, "shop", "web", 8443);
        var near = new Socket(InetAddress.getLoopbackAddress(), tunnel.port())) {
      var pod = Pod.accept(server, SWITCHING);
      pod.say(0, 0xfb, 0x20);
      pod.say(1, 0xfb, 0x20);
      pod.say(1, 'n', 'o', 'b', 'o', 'd', 'y');
      assertThat(near.getInputStream().read()).isEqualTo(-1);
      assertThat(tunnel.refusal()).contains("nobody");
    }
  }

  @Test
  void whatTheServerRefusesIsTold() throws Exception {
    try (var tunnel = PodTunnel.open(client, "shop", "web", 8443);
        var near = new Socket(InetAddress.getLoopbackAddress(), tunnel.port())) {
      var _ = Pod.accept(server, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
      assertThat(near.getInputStream().read()).isEqualTo(-1);
      await().until(() -> tunnel.refusal().isPresent());
      assertThat(tunnel.refusal().orElseThrow()).isEqualTo("it answers 403");
    }
  }
}
