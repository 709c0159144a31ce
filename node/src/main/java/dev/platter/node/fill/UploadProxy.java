package dev.platter.node.fill;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/**
 * One address for many {@link UploadServer}s: a request goes to the one that its token is for, over
 * TLS, and the answer comes back as it was given. Nothing is kept, and nothing is read that the
 * server has not taken: who is faster than the disk waits here too, with one buffer for each.
 *
 * <p>The server can answer before all is sent. That is passed on at once; the rest is read for a
 * while and dropped, since most clients look for an answer only when they have sent everything.
 *
 * <p>There are as many places as a {@link Listener} has, so there is an end to the memory that this
 * takes, whoever comes.
 */
public final class UploadProxy implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(UploadProxy.class.getName());

  /** It is written to another connection, where nothing may be read in another way. */
  private static final Pattern PATH = Pattern.compile("/[A-Za-z0-9._/-]*");

  private static final int BUFFER = 64 << 10;
  private static final int CONNECT_MILLIS = 5_000;

  /** After the last byte: the server syncs what it has. */
  private static final Duration LONGEST_ANSWER = Duration.ofHours(1);

  /** After the server has gone: what it said before may be on its way. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  /** What the server has to know of a request; the rest is for connections. */
  private static final List<String> HEADERS =
      List.of(
          "Authorization",
          "Content-Type",
          "Content-Length",
          "Transfer-Encoding",
          "Content-Range",
          "Repr-Digest");

  /**
   * Where a request goes.
   *
   * @param name what the server's certificate has to say
   * @param trust whom it has to be signed by
   */
  public record Door(InetSocketAddress address, String name, SSLContext trust) {}

  /** Whoever knows the tokens. */
  @FunctionalInterface
  public interface Doors {
    Door find(String token) throws Refused, InterruptedException;
  }

  /** Nobody is let in by that token, or not now. */
  public static final class Refused extends Exception {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final String reason;

    public Refused(int status, String reason, String message) {
      super(message);
      this.status = status;
      this.reason = reason;
    }
  }

  private final Doors doors;
  private final Paces paces;
  private final Listener listener;
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

  private UploadProxy(
      InetSocketAddress listen, Supplier<SSLContext> tls, Duration patience, Doors doors)
      throws IOException {
    this.doors = doors;
    this.paces = new Paces(patience);
    this.listener = new Listener(listen, tls, patience, this::handle);
    long tick = Math.max(1, patience.toMillis() / 4);
    var _ = clock.scheduleAtFixedRate(this::check, tick, tick, TimeUnit.MILLISECONDS);
  }

  /**
   * @param tls whose certificate it shows to the next who comes
   * @param patience how long a client may send next to nothing
   */
  public static UploadProxy start(
      InetSocketAddress listen, Supplier<SSLContext> tls, Duration patience, Doors doors)
      throws IOException {
    return new UploadProxy(listen, tls, patience, doors);
  }

  private void check() {
    listener.check();
    paces.check();
  }

  public InetSocketAddress address() {
    return listener.address();
  }

  // Whatever goes wrong, whoever asked is told.
  @SuppressWarnings("CatchingUnchecked")
  private void handle(Exchange exchange) throws IOException {
    var path = exchange.head().path();
    if (path.equals("/healthz")) {
      refuse(exchange, 200, "Ok", "OK");
      return;
    }
    if (!PATH.matcher(path).matches()) {
      refuse(exchange, 404, "NotFound", "send the disk by POST to /v1beta1/upload");
      return;
    }
    var token = exchange.head().bearer();
    if (token.isEmpty()) {
      refuse(exchange, 400, "Token", "send a token: Authorization: Bearer TOKEN");
      return;
    }
    try {
      lead(exchange, doors.find(token.get()));
    } catch (Refused e) {
      refuse(exchange, e.status, e.reason, String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "a disk could not be led to its pod", e);
      refuse(exchange, 500, "Failed", "Platter failed to find the pod; try again");
    }
  }

  private void refuse(Exchange exchange, int status, String reason, String message)
      throws IOException {
    var headers = Map.of("Content-Type", "application/json");
    exchange.answer(status, headers, Answer.of(status, status, reason, message).json());
    paces.drain(exchange.body(), UploadServer.MOST_DRAINED_UNKNOWN);
  }

  private void lead(Exchange exchange, Door door)
      throws IOException, Refused, InterruptedException {
    try (var plain = new Socket();
        var server = opened(plain, door)) {
      var answer = answer(exchange, server);
      answer.pass(exchange);
      if (answer.isRefusal()) {
        paces.drain(exchange.body(), UploadServer.MOST_DRAINED);
      }
    }
  }

  private static SSLSocket opened(Socket plain, Door door) throws Refused {
    try {
      plain.connect(door.address, CONNECT_MILLIS);
      plain.setTcpNoDelay(true);
      plain.setKeepAlive(true);
      var socket =
          (SSLSocket)
              door.trust
                  .getSocketFactory()
                  .createSocket(plain, door.name, door.address.getPort(), true);
      var parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.setSoTimeout(CONNECT_MILLIS);
      socket.startHandshake();
      socket.setSoTimeout(0);
      return socket;
    } catch (IOException e) {
      throw new Refused(
          502, "Unreachable", "the pod that takes the disk cannot be reached: " + e.getMessage());
    }
  }

  private PassedAnswer answer(Exchange exchange, SSLSocket server)
      throws IOException, Refused, InterruptedException {
    var answer = new CompletableFuture<PassedAnswer>();
    var headOnly = exchange.head().method().equals("HEAD");
    Thread.ofVirtual()
        .name("answer")
        .start(
            () -> {
              try {
                answer.complete(PassedAnswer.read(server.getInputStream(), headOnly));
              } catch (IOException e) {
                answer.completeExceptionally(e);
              }
            });
    var patience = send(exchange, server.getOutputStream(), answer) ? LONGEST_ANSWER : LAST_WORDS;
    try {
      return answer.get(patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new Refused(502, "Lost", "the pod that takes the disk has not answered; try again");
    }
  }

  /**
   * Returns whether there is a server that waits for nothing more; else it has gone.
   *
   * @throws IOException if the client has gone
   */
  private boolean send(Exchange exchange, OutputStream server, CompletableFuture<?> answer)
      throws IOException {
    var chunked = exchange.head().header("Transfer-Encoding") != null;
    var piece = new byte[BUFFER];
    var pace = paces.begin(exchange.body());
    try {
      if (!written(server, head(exchange.head()))) {
        return false;
      }
      for (int n; !answer.isDone() && (n = pace.read(piece)) >= 0; ) {
        var sent =
            chunked
                ? written(server, Integer.toHexString(n) + "\r\n")
                    && written(server, piece, n)
                    && written(server, "\r\n")
                : written(server, piece, n);
        if (!sent) {
          return false;
        }
      }
      return answer.isDone() || !chunked || written(server, "0\r\n\r\n");
    } finally {
      paces.end(pace);
    }
  }

  private static String head(RequestHead head) {
    var lines = new StringBuilder(head.method() + " " + head.path() + " HTTP/1.1\r\nHost: pod\r\n");
    for (var name : HEADERS) {
      var value = head.header(name);
      if (value != null) {
        lines.append(name + ": " + value + "\r\n");
      }
    }
    return lines.append("Connection: close\r\n\r\n").toString();
  }

  private static boolean written(OutputStream server, String text) {
    var bytes = text.getBytes(US_ASCII);
    return written(server, bytes, bytes.length);
  }

  private static boolean written(OutputStream server, byte[] bytes, int length) {
    try {
      server.write(bytes, 0, length);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    clock.shutdownNow();
  }
}
