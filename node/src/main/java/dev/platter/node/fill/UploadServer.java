package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.node.FillTarget;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Takes one disk, or one archive, over HTTP, by PUT, and by what clients of KubeVirt's importer
 * (CDI) send. A client that is faster than the disk waits: no more than some pieces are in memory.
 *
 * <p>{@code docs/filling.md} has the requests and answers.
 */
public final class UploadServer implements AutoCloseable {
  private static final Pattern CDI = Pattern.compile("/v1(alpha|beta)1/upload(-form)?(-async)?");
  private static final Pattern DIGEST =
      Pattern.compile("(?i)(?:.*,\\s*)?sha-256=:([A-Za-z0-9+/]{43}=):.*");
  private static final Pattern ARCHIVE = Pattern.compile("/v1(alpha|beta)1/upload-archive");
  static final long MOST_DRAINED = 64L << 20;

  /**
   * From whom nothing comes for this long makes room for the next who sends: mostly they are one
   * and the same, whose first connection a tunnel between us has lost without a word.
   */
  private static final Duration STILL = Duration.ofSeconds(5);

  private static final Duration LEAVE = Duration.ofSeconds(1);

  /** Of who is not known. */
  static final long MOST_DRAINED_UNKNOWN = 1L << 20;

  /**
   * @param size how large the disk of a volume should be, 0 for as large as what comes
   * @param token what clients must have; empty if everybody may send
   * @param patience how long a client may send next to nothing
   * @param made whether the target was made for this and is nobody else's, whatever a device holds
   */
  public record Options(
      InetSocketAddress listen,
      StateLayout layout,
      Path target,
      long size,
      boolean replace,
      @Nullable Format format,
      Optional<String> token,
      Duration patience,
      boolean made) {
    /** For a target that somebody has named. */
    public Options(
        InetSocketAddress listen,
        StateLayout layout,
        Path target,
        long size,
        boolean replace,
        @Nullable Format format,
        Optional<String> token,
        Duration patience) {
      this(listen, layout, target, size, replace, format, token, patience, false);
    }
  }

  private final Listener listener;
  private final Upload upload;
  private final Options options;
  private final CountDownLatch completed = new CountDownLatch(1);
  private final Paces paces;
  private final Predicate<String> also;
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

  private UploadServer(
      Upload upload, Options options, @Nullable SSLContext tls, Predicate<String> also)
      throws IOException {
    this.upload = upload;
    this.options = options;
    this.also = also;
    this.paces = new Paces(options.patience);
    this.listener = new Listener(options.listen, () -> tls, options.patience, this::handle);
    long tick = Math.max(1, options.patience.toMillis() / 4);
    var _ = clock.scheduleAtFixedRate(this::check, tick, tick, TimeUnit.MILLISECONDS);
  }

  public static UploadServer start(Options options) throws IOException {
    return start(options, null, _ -> false);
  }

  /**
   * @param tls whose certificate it shows; null for plain HTTP
   * @param also which other tokens are as good
   */
  public static UploadServer start(
      Options options, @Nullable SSLContext tls, Predicate<String> also) throws IOException {
    var target =
        FillTarget.of(
            options.layout,
            options.target,
            options.format,
            options.size,
            options.replace,
            options.made);
    return start(target, options, tls, also);
  }

  static UploadServer start(
      FillTarget target, Options options, @Nullable SSLContext tls, Predicate<String> also)
      throws IOException {
    try {
      var server = new UploadServer(new Upload(target, options.format), options, tls, also);
      if (server.upload.done().isPresent()) {
        server.completed.countDown();
      }
      return server;
    } catch (IOException | RuntimeException e) {
      target.close();
      throw e;
    }
  }

  private void check() {
    listener.check();
    paces.check();
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
    return listener.address();
  }

  /** Returns when the disk is complete, and whoever sent it has heard of it. */
  public String await() throws InterruptedException {
    completed.await();
    return upload.done().orElseThrow().toString();
  }

  private void handle(Exchange exchange) throws IOException {
    try {
      var path = exchange.head().path();
      var cdi = CDI.matcher(path).matches() || ARCHIVE.matcher(path).matches();
      send(exchange, answer(exchange, cdi), cdi);
    } finally {
      // Also if who sent it is gone, and will not hear of it.
      if (upload.done().isPresent()) {
        completed.countDown();
      }
    }
  }

  private Answer answer(Exchange exchange, boolean cdi) {
    var method = exchange.head().method();
    var path = exchange.head().path();
    if (path.equals("/healthz")) {
      return Answer.of(200, 200, "Ok", "OK");
    }
    if (!isAllowed(exchange.head())) {
      return Answer.of(401, 401, "Token", "send the right token: Authorization: Bearer TOKEN");
    }
    if (ARCHIVE.matcher(path).matches() && options.format != Format.TAR) {
      return Answer.of(
          415, 400, "Archive", "a disk is taken here; archives go to who was told format: tar");
    }
    var ours = path.indexOf('/', 1) < 0;
    if (!cdi && !ours) {
      return Answer.of(404, 404, "NotFound", "send it by PUT to /disk");
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
        done.isPresent() ? "it is complete" : "send it by PUT",
        Map.of("offset", upload.offset(), "digest", done.map(Digest::toString).orElse("")));
  }

  private boolean isAllowed(RequestHead head) {
    if (options.token.isEmpty()) {
      return true;
    }
    var header = head.header("Authorization");
    var wanted = "Bearer " + options.token.get();
    return header != null
        && (MessageDigest.isEqual(
                header.getBytes(StandardCharsets.UTF_8), wanted.getBytes(StandardCharsets.UTF_8))
            || head.bearer().filter(also).isPresent());
  }

  private Answer take(Exchange exchange, boolean form) {
    var pace = paces.begin(exchange.body());
    try {
      var part = form ? formPart(exchange.head(), pace) : part(exchange.head(), pace);
      var answer = upload.take(part);
      if (answer.status() != 503 || !paces.cutStill(STILL)) {
        return answer;
      }
      upload.awaitIdle(LEAVE);
      return upload.take(part);
    } catch (IOException | IllegalArgumentException e) {
      return Answer.of(400, 400, "Request", String.valueOf(e.getMessage()));
    } finally {
      paces.end(pace);
    }
  }

  private static Upload.Part formPart(RequestHead head, BufferStream body) throws IOException {
    var type = head.header("Content-Type");
    return new Upload.Part(
        0,
        -1,
        -1,
        Optional.empty(),
        BufferStream.of(FormBody.open(type == null ? "" : type, body)));
  }

  private static Upload.Part part(RequestHead head, BufferStream body) {
    var text = head.header("Content-Range");
    var range = ContentRange.parse(text);
    if (text != null && range.isEmpty()) {
      throw new IllegalArgumentException("write Content-Range: bytes FIRST-LAST/TOTAL");
    }
    var digest = digest(head.header("Repr-Digest"));
    var length = head.header("Content-Length");
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
        ? Optional.of(new Digest(Base64.getDecoder().decode(match.group(1))))
        : Optional.empty();
  }

  private void send(Exchange exchange, Answer answer, boolean cdi) throws IOException {
    var headers = new LinkedHashMap<String, String>();
    headers.put("Content-Type", "application/json");
    headers.put("Upload-Offset", Long.toString(upload.offset()));
    headers.put("Upload-Complete", upload.done().isPresent() ? "?1" : "?0");
    if (upload.isBusy()) {
      headers.put("Upload-Busy", "?1");
    }
    if (upload.total() >= 0) {
      headers.put("Upload-Length", Long.toString(upload.total()));
    }
    if (answer.status() == 503) {
      headers.put("Retry-After", "1");
    }
    if (answer.status() == 401) {
      headers.put("WWW-Authenticate", "Bearer");
    }
    int status = cdi ? answer.cdi() : answer.status();
    exchange.answer(status, headers, answer.json());
    if (status >= 400) {
      paces.drain(exchange.body(), status == 401 ? MOST_DRAINED_UNKNOWN : MOST_DRAINED);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    clock.shutdownNow();
    upload.close();
  }
}
