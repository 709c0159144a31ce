package dev.platter.node.fill;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.node.FillTarget;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Takes one disk over HTTP, by PUT, and by what clients of KubeVirt's importer (CDI) send. A client
 * that is faster than the disk waits: no more than some pieces are in memory.
 *
 * <p>{@code docs/filling.md} has the requests and answers.
 */
public final class UploadServer implements AutoCloseable {
  /** Whoever reaches it may ask. The JDK's server reads them once, when it is first used. */
  private static final Map<String, String> LIMITS =
      Map.of(
          "sun.net.httpserver.maxReqHeaderSize", "16384",
          "sun.net.httpserver.nodelay", "true",
          "jdk.httpserver.maxConnections", "64");

  private static final Pattern CDI = Pattern.compile("/v1(alpha|beta)1/upload(-form)?(-async)?");
  private static final Pattern DIGEST =
      Pattern.compile("(?i)(?:.*,\\s*)?sha-256=:([A-Za-z0-9+/]{43}=):.*");
  private static final long MOST_DRAINED = 64L << 20;

  /** Of who is not known. */
  private static final long MOST_DRAINED_UNKNOWN = 1L << 20;

  private static final int BACKLOG = 16;

  /**
   * @param size how large the disk of a volume should be, 0 for as large as what comes
   * @param token what clients must have; empty if everybody may send
   * @param patience how long a client may send next to nothing
   */
  public record Options(
      InetSocketAddress listen,
      StateLayout layout,
      Path target,
      long size,
      boolean replace,
      @Nullable Format format,
      Optional<String> token,
      Duration patience) {}

  private final HttpServer server;
  private final Upload upload;
  private final Options options;
  private final CountDownLatch completed = new CountDownLatch(1);
  private final Set<Pace> paces = ConcurrentHashMap.newKeySet();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

  private UploadServer(HttpServer server, Upload upload, Options options) {
    this.server = server;
    this.upload = upload;
    this.options = options;
  }

  public static UploadServer start(Options options) throws IOException {
    return start(options, null);
  }

  /**
   * @param tls whose certificate it shows; null for plain HTTP
   */
  public static UploadServer start(Options options, @Nullable SSLContext tls) throws IOException {
    LIMITS.forEach(System.getProperties()::putIfAbsent);
    var target = FillTarget.of(options.layout, options.target, options.size, options.replace);
    try {
      var upload = new Upload(target, options.format);
      var http = listen(options, tls);
      var server = new UploadServer(http, upload, options);
      http.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
      http.createContext("/", server::handle);
      http.start();
      long tick = Math.max(1, options.patience.toMillis() / 4);
      var _ =
          server.clock.scheduleAtFixedRate(
              () -> server.paces.forEach(Pace::check), tick, tick, TimeUnit.MILLISECONDS);
      if (upload.done().isPresent()) {
        server.completed.countDown();
      }
      return server;
    } catch (IOException | RuntimeException e) {
      target.close();
      throw e;
    }
  }

  private static HttpServer listen(Options options, @Nullable SSLContext tls) throws IOException {
    if (tls == null) {
      return HttpServer.create(options.listen, BACKLOG);
    }
    var secure = HttpsServer.create(options.listen, BACKLOG);
    secure.setHttpsConfigurator(new HttpsConfigurator(tls));
    return secure;
  }

  /** How many bytes of the file have come. */
  public long offset() {
    return upload.offset();
  }

  /** How many there are; -1 while nobody has said. */
  public long total() {
    return upload.total();
  }

  public InetSocketAddress address() {
    return server.getAddress();
  }

  /** Returns when the disk is complete, and whoever sent it has heard of it. */
  public String await() throws InterruptedException {
    completed.await();
    return upload.done().orElseThrow().toString();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      var path = exchange.getRequestURI().getPath();
      var cdi = CDI.matcher(path).matches();
      send(exchange, answer(exchange, path, cdi), cdi);
    } finally {
      // Also if who sent it is gone, and will not hear of it.
      if (upload.done().isPresent()) {
        completed.countDown();
      }
    }
  }

  private Answer answer(HttpExchange exchange, String path, boolean cdi) {
    var method = exchange.getRequestMethod();
    if (path.equals("/healthz")) {
      return Answer.of(200, 200, "Ok", "OK");
    }
    if (!isAllowed(exchange)) {
      return Answer.of(401, 401, "Token", "send the right token: Authorization: Bearer TOKEN");
    }
    var ours = path.indexOf('/', 1) < 0;
    if (!cdi && !ours) {
      return Answer.of(404, 404, "NotFound", "send the disk by PUT to /disk");
    }
    return switch (method) {
      case "HEAD", "GET" -> status();
      case "PUT" -> cdi ? notAllowed(method) : take(exchange, false);
      case "POST" -> cdi ? take(exchange, path.contains("-form")) : notAllowed(method);
      default -> notAllowed(method);
    };
  }

  /** As CDI has it, which knows no other method at its paths. */
  private static Answer notAllowed(String method) {
    return Answer.of(405, 404, "Method", method + " is not for this path");
  }

  private Answer status() {
    var done = upload.done();
    return new Answer(
        200,
        200,
        done.isPresent() ? "Complete" : "Waiting",
        done.isPresent() ? "the disk is complete" : "send the disk by PUT",
        Map.of("offset", upload.offset(), "digest", done.map(Digest::toString).orElse("")));
  }

  private boolean isAllowed(HttpExchange exchange) {
    if (options.token.isEmpty()) {
      return true;
    }
    var header = exchange.getRequestHeaders().getFirst("Authorization");
    var wanted = "Bearer " + options.token.get();
    return header != null
        && MessageDigest.isEqual(
            header.getBytes(StandardCharsets.UTF_8), wanted.getBytes(StandardCharsets.UTF_8));
  }

  private Answer take(HttpExchange exchange, boolean form) {
    var pace = new Pace(exchange.getRequestBody(), options.patience);
    paces.add(pace);
    try {
      return upload.take(form ? formPart(exchange, pace) : part(exchange, pace));
    } catch (IOException | IllegalArgumentException e) {
      return Answer.of(400, 400, "Request", String.valueOf(e.getMessage()));
    } finally {
      paces.remove(pace);
      // Who was cut off is not there to be answered; the thread is the server's.
      if (pace.tooSlow()) {
        Thread.interrupted();
      }
    }
  }

  private static Upload.Part formPart(HttpExchange exchange, InputStream body) throws IOException {
    var type = exchange.getRequestHeaders().getFirst("Content-Type");
    return new Upload.Part(
        0, -1, -1, Optional.empty(), FormBody.open(type == null ? "" : type, body));
  }

  private static Upload.Part part(HttpExchange exchange, InputStream body) {
    var headers = exchange.getRequestHeaders();
    var text = headers.getFirst("Content-Range");
    var range = ContentRange.parse(text);
    if (text != null && range.isEmpty()) {
      throw new IllegalArgumentException("write Content-Range: bytes FIRST-LAST/TOTAL");
    }
    var digest = digest(headers.getFirst("Repr-Digest"));
    var length = headers.getFirst("Content-Length");
    if (range.isPresent()) {
      var part = range.get();
      long size = part.to() - part.from() + 1;
      if (length != null && !length.equals(Long.toString(size))) {
        throw new IllegalArgumentException("Content-Range and Content-Length differ");
      }
      return new Upload.Part(part.from(), size, part.total(), digest, body);
    }
    long size = length == null ? -1 : Long.parseLong(length);
    return new Upload.Part(0, size, size, digest, body);
  }

  private static Optional<Digest> digest(@Nullable String header) {
    var match = DIGEST.matcher(header == null ? "" : header);
    return match.matches()
        ? Optional.of(
            new Digest(HexFormat.of().formatHex(Base64.getDecoder().decode(match.group(1)))))
        : Optional.empty();
  }

  private void send(HttpExchange exchange, Answer answer, boolean cdi) throws IOException {
    var headers = exchange.getResponseHeaders();
    headers.set("Content-Type", "application/json");
    headers.set("Upload-Offset", Long.toString(upload.offset()));
    headers.set("Upload-Complete", upload.done().isPresent() ? "?1" : "?0");
    if (upload.total() >= 0) {
      headers.set("Upload-Length", Long.toString(upload.total()));
    }
    if (answer.status() == 503) {
      headers.set("Retry-After", "1");
    }
    if (answer.status() == 401) {
      headers.set("WWW-Authenticate", "Bearer");
    }
    int status = cdi ? answer.cdi() : answer.status();
    byte[] body = answer.json();
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(status, head ? -1 : body.length);
    if (!head) {
      exchange.getResponseBody().write(body);
      exchange.getResponseBody().flush();
    }
    if (status >= 400) {
      drain(exchange.getRequestBody(), status == 401 ? MOST_DRAINED_UNKNOWN : MOST_DRAINED);
    }
  }

  /** Who still sends must not find the connection closed before they have read the answer. */
  private void drain(InputStream body, long most) {
    var pace = new Pace(body, options.patience);
    paces.add(pace);
    byte[] sink = new byte[64 << 10];
    try {
      long left = most;
      for (int n; left > 0 && (n = pace.read(sink)) >= 0; left -= n) {}
    } catch (IOException e) {
      // They are gone, as they may be.
    } finally {
      paces.remove(pace);
    }
  }

  @Override
  public void close() throws IOException {
    server.stop(1);
    clock.shutdownNow();
    upload.close();
  }
}
