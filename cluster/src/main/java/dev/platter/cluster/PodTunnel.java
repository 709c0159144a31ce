package dev.platter.cluster;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketHandshakeException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A port of this machine that leads to one of a pod, through the API server; each connection has a
 * WebSocket of its own, which cannot end in one direction alone.
 *
 * <p>The Kubernetes client has port-forwards, too, but they lose bytes: the JDK's WebSocket refuses
 * a message while another is on its way, and nobody there looks at the refusal.
 */
public final class PodTunnel implements AutoCloseable {
  private static final String PROTOCOL = "v4.channel.k8s.io";
  private static final int BACKLOG = 16;
  private static final int PIECE = 32 << 10;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** For what is still on its way from a pod that has closed its end. */
  private static final Duration LEAVE = Duration.ofSeconds(2);

  /** Between looks whether a message has gone, of which nobody tells. */
  private static final long FIRST_LOOK = 100_000;

  private static final long LAST_LOOK = 10_000_000;

  private final KubernetesClient client;
  private final URI uri;
  private final ServerSocket server;
  private final Set<Passage> passages = ConcurrentHashMap.newKeySet();
  private volatile @Nullable String refusal;

  private PodTunnel(KubernetesClient client, URI uri) throws IOException {
    this.client = client;
    this.uri = uri;
    this.server = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().name("tunnel").start(this::listen);
  }

  static PodTunnel open(KubernetesClient client, String namespace, String pod, int port)
      throws IOException {
    var path = "api/v1/namespaces/%s/pods/%s/portforward?ports=%d".formatted(namespace, pod, port);
    return new PodTunnel(client, URI.create(client.getMasterUrl() + path));
  }

  int port() {
    return server.getLocalPort();
  }

  /** Why nothing came through of late, if the API server has said so. */
  Optional<String> refusal() {
    return Optional.ofNullable(refusal);
  }

  private void listen() {
    while (!server.isClosed()) {
      try {
        var passage = new Passage(server.accept());
        Thread.ofVirtual().name("passage").start(passage::run);
      } catch (IOException e) {
        // It is closed, or whoever came has gone.
      }
    }
  }

  /** One connection. */
  private final class Passage implements WebSocket.Listener {
    private static final byte DATA = 0;
    private final Socket near;
    private final CountDownLatch left = new CountDownLatch(1);
    private int begun;

    Passage(Socket near) {
      this.near = near;
    }

    void run() {
      passages.add(this);
      WebSocket far = null;
      try {
        if (!server.isClosed()) {
          far = connect();
          send(far);
        }
      } catch (IOException | InterruptedException e) {
        // Either end is gone; so does the other.
      } finally {
        if (far != null && left.getCount() > 0) {
          far.sendClose(1000, "done");
        }
        end();
      }
    }

    private WebSocket connect() throws IOException, InterruptedException {
      var opening = new CompletableFuture<WebSocket>();
      try {
        opening =
            client
                .getHttpClient()
                .newWebSocketBuilder()
                .uri(uri)
                .subprotocol(PROTOCOL)
                .buildAsync(this);
        return opening.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      } catch (ExecutionException | TimeoutException e) {
        refusal = told(e.getCause());
        throw new IOException("no way to the pod", e);
      } catch (RuntimeException e) {
        refusal = told(e);
        throw new IOException("no way to the API server", e);
      } finally {
        opening.cancel(true); // If it comes later, nobody wants it any more.
      }
    }

    private static String told(@Nullable Throwable why) {
      return switch (why) {
        case WebSocketHandshakeException refused -> "it answers " + refused.getResponse().code();
        case Throwable other when other.getMessage() != null -> other.getMessage();
        case null, default -> "it does not answer";
      };
    }

    /** Until whoever is near has no more to send, and wants to hear no more. */
    private void send(WebSocket far) throws IOException, InterruptedException {
      var in = near.getInputStream();
      var piece = new byte[1 + PIECE];
      piece[0] = DATA;
      for (int n; (n = in.read(piece, 1, PIECE)) >= 0; ) {
        if (!far.send(ByteBuffer.wrap(piece, 0, 1 + n))) {
          boolean _ = left.await(LEAVE.toMillis(), TimeUnit.MILLISECONDS); // It may have answered.
          return;
        }
        for (long look = FIRST_LOOK;
            far.queueSize() > 0 && !near.isClosed();
            look = Math.min(2 * look, LAST_LOOK)) {
          Thread.sleep(Duration.ofNanos(look));
        }
      }
    }

    @Override
    public void onMessage(WebSocket far, ByteBuffer message) {
      try {
        // Each of the two channels, data and errors, begins with the number of the port.
        if (++begun > 2) {
          take(message);
        }
        far.request();
      } catch (IOException e) {
        end();
      }
    }

    private void take(ByteBuffer message) throws IOException {
      var bytes = new byte[message.remaining()];
      message.get(bytes);
      if (bytes.length == 0 || bytes[0] != DATA) {
        refusal = new String(bytes, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}+", " ").strip();
        throw new IOException("the pod cannot be reached");
      }
      refusal = null;
      near.getOutputStream().write(bytes, 1, bytes.length - 1);
    }

    @Override
    public void onClose(WebSocket far, int code, String reason) {
      left.countDown();
      end();
    }

    @Override
    public void onError(WebSocket far, Throwable error) {
      left.countDown();
      end();
    }

    private void end() {
      passages.remove(this);
      try {
        near.close();
      } catch (IOException e) {
        // It is gone already.
      }
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    passages.forEach(Passage::end);
  }
}
