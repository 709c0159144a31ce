package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsExchange;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/**
 * Answers the API server's admission reviews over HTTPS, and what it passes on of requests for
 * tokens. What is asked is decided elsewhere ({@link Admission}, {@link TokenRequests}); here are
 * the limits: the size of a review, and the time that one may take to arrive. The API server gives
 * up after ten seconds by itself, and refuses what it got no answer for.
 */
public final class WebhookServer implements AutoCloseable {
  private static final int MOST_BYTES = 3 << 20;
  private static final int MOST_BYTES_OF_TOKEN = 64 << 10;
  private static final String SECONDS = "10";
  private static final System.Logger LOG = System.getLogger(WebhookServer.class.getName());
  private static final int BACKLOG = 128;

  private final HttpsServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  /**
   * @param tls whose certificate may change while it serves
   * @param ready whether the API server can be expected to trust the certificate
   */
  public WebhookServer(
      InetSocketAddress address, SSLContext tls, Admission admission, BooleanSupplier ready)
      throws IOException {
    this(address, tls, admission, null, ready);
  }

  /**
   * @param tokens null if nobody can ask for any
   */
  WebhookServer(
      InetSocketAddress address,
      SSLContext tls,
      Admission admission,
      @Nullable TokenRequests tokens,
      BooleanSupplier ready)
      throws IOException {
    // The JDK's server reads them once, when it is first used.
    for (var limit : new String[] {"maxReqTime", "maxRspTime"}) {
      System.getProperties().putIfAbsent("sun.net.httpserver." + limit, SECONDS);
    }
    server = HttpsServer.create(address, BACKLOG);
    server.setHttpsConfigurator(tokens == null ? new HttpsConfigurator(tls) : new AsksWho(tls));
    server.setExecutor(threads);
    server.createContext("/mutate", exchange -> review(exchange, admission::mutate));
    server.createContext("/validate", exchange -> review(exchange, admission::validate));
    server.createContext("/snapshot", exchange -> review(exchange, admission::snapshot));
    server.createContext("/evict", exchange -> review(exchange, admission::evict));
    if (tokens != null) {
      server.createContext("/claims", exchange -> review(exchange, admission::send));
      server.createContext(TokenRequests.ROOT, exchange -> token(exchange, tokens));
    }
    server.createContext("/healthz", exchange -> answer(exchange, 200, "ok\n"));
    server.createContext(
        "/readyz",
        exchange -> {
          if (ready.getAsBoolean()) {
            answer(exchange, 200, "ok\n");
          } else {
            answer(exchange, 503, "the API server does not know our certificate yet\n");
          }
        });
  }

  public void start() {
    server.start();
  }

  public int port() {
    return server.getAddress().getPort();
  }

  private static void review(HttpExchange exchange, UnaryOperator<ObjectNode> decide)
      throws IOException {
    if (!exchange.getRequestMethod().equals("POST")) {
      answer(exchange, 405, "expected a POST of an AdmissionReview\n");
      return;
    }
    var body = exchange.getRequestBody().readNBytes(MOST_BYTES + 1);
    if (body.length > MOST_BYTES) {
      answer(exchange, 413, "an AdmissionReview has 3 MiB at most\n");
      return;
    }
    JsonNode review;
    try {
      review = Json.MAPPER.readTree(body);
    } catch (IOException e) {
      answer(exchange, 400, "not JSON\n");
      return;
    }
    if (!(review.get("request") instanceof ObjectNode request) || !request.hasNonNull("uid")) {
      answer(exchange, 400, "not an AdmissionReview with a request\n");
      return;
    }
    var out = Json.object();
    out.put("apiVersion", "admission.k8s.io/v1").put("kind", "AdmissionReview");
    out.set("response", decide.apply(request));
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    answer(exchange, 200, Json.write(out));
  }

  /** Of callers, who need not have one: whose certificate it is, is looked at later. */
  private static final class AsksWho extends HttpsConfigurator {
    AsksWho(SSLContext tls) {
      super(tls);
    }

    @Override
    public void configure(HttpsParameters parameters) {
      var usual = getSSLContext().getDefaultSSLParameters();
      usual.setWantClientAuth(true);
      parameters.setSSLParameters(usual);
    }
  }

  // Whatever goes wrong, nobody gets a token for it.
  @SuppressWarnings("CatchingUnchecked")
  private static void token(HttpExchange exchange, TokenRequests tokens) throws IOException {
    var body = exchange.getRequestBody().readNBytes(MOST_BYTES_OF_TOKEN + 1);
    if (body.length > MOST_BYTES_OF_TOKEN) {
      answer(exchange, 413, "a request for a token has 64 KiB at most\n");
      return;
    }
    try {
      var reply =
          tokens.answer(
              exchange.getRequestMethod(),
              exchange.getRequestURI().getPath(),
              () -> tokens.frontProxy().user(chain(exchange), exchange.getRequestHeaders()),
              body);
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      answer(exchange, reply.status(), Json.write(reply.body()));
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.WARNING, "a token could not be given", e);
      answer(exchange, 500, "Platter failed to answer\n");
    }
  }

  private static List<X509Certificate> chain(HttpExchange exchange) {
    try {
      return Stream.of(((HttpsExchange) exchange).getSSLSession().getPeerCertificates())
          .map(X509Certificate.class::cast)
          .toList();
    } catch (SSLPeerUnverifiedException e) {
      return List.of();
    }
  }

  private static void answer(HttpExchange exchange, int status, String text) throws IOException {
    try (exchange) {
      var bytes = text.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(status, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  /** Answers what was asked already. */
  @Override
  public void close() {
    server.stop(1);
    threads.shutdown();
    try {
      if (!threads.awaitTermination(1, TimeUnit.SECONDS)) {
        threads.shutdownNow();
      }
    } catch (InterruptedException e) {
      threads.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
