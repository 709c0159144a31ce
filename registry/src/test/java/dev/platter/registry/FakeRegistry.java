package dev.platter.registry;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/** An HTTP server that answers as a test says and remembers what it was asked. */
final class FakeRegistry implements Closeable {
  interface Answer {
    void to(HttpExchange exchange) throws IOException;
  }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Map<String, Answer> answers = new ConcurrentHashMap<>();

  /** "path?query Authorization" of each request. */
  final List<String> requests = new CopyOnWriteArrayList<>();

  /** The Range of each request that had one. */
  final List<String> ranges = new CopyOnWriteArrayList<>();

  FakeRegistry() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String authorization = exchange.getRequestHeaders().getFirst("Authorization");
      requests.add(exchange.getRequestURI() + " " + authorization);
      String range = exchange.getRequestHeaders().getFirst("Range");
      if (range != null) {
        ranges.add(range);
      }
      answers.getOrDefault(exchange.getRequestURI().getPath(), status(404)).to(exchange);
    }
  }

  FakeRegistry on(String path, Answer answer) {
    answers.put(path, answer);
    return this;
  }

  String host() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  Reference image() {
    return Reference.parse(host() + "/vm:v1");
  }

  /** Does not wait long between attempts. */
  static Registries eager(RegistrySettings settings, Credentials credentials) {
    return registries(settings, credentials, Duration.ofSeconds(20), System::nanoTime);
  }

  /** Does not wait long for answers either. */
  static Registries impatient(RegistrySettings settings, Credentials credentials) {
    return impatient(settings, credentials, System::nanoTime);
  }

  /** To whom {@code nanos} is the time. */
  static Registries impatient(
      RegistrySettings settings, Credentials credentials, LongSupplier nanos) {
    return registries(settings, credentials, Duration.ofMillis(500), nanos);
  }

  private static Registries registries(
      RegistrySettings settings, Credentials credentials, Duration patience, LongSupplier nanos) {
    return new Registries(
        settings, credentials, new Transport(settings, Duration.ofMillis(1), patience), nanos);
  }

  static Answer status(int status) {
    return exchange -> exchange.sendResponseHeaders(status, -1);
  }

  static Answer redirect(String location) {
    return exchange -> {
      exchange.getResponseHeaders().set("Location", location);
      exchange.sendResponseHeaders(307, -1);
    };
  }

  static Answer text(String text) {
    return bytes(text.getBytes(StandardCharsets.UTF_8));
  }

  static Answer bytes(byte[] bytes) {
    return exchange -> {
      exchange.sendResponseHeaders(200, bytes.length == 0 ? -1 : bytes.length);
      exchange.getResponseBody().write(bytes);
    };
  }

  /** As a registry does: the range that was asked for, or all if none was. */
  static Answer ranged(byte[] bytes) {
    return exchange -> {
      String range = exchange.getRequestHeaders().getFirst("Range");
      if (range == null) {
        bytes(bytes).to(exchange);
        return;
      }
      String[] ends = range.replace("bytes=", "").split("-", -1);
      part(bytes, Integer.parseInt(ends[0]), Integer.parseInt(ends[1]) + 1).to(exchange);
    };
  }

  static Answer part(byte[] bytes, int from, int end) {
    return exchange -> {
      exchange
          .getResponseHeaders()
          .set("Content-Range", "bytes %d-%d/%d".formatted(from, end - 1, bytes.length));
      exchange.sendResponseHeaders(206, end - from);
      exchange.getResponseBody().write(bytes, from, end - from);
    };
  }

  /** The first answers in turn, then the last one always. */
  static Answer inTurn(Answer... answers) {
    var turn = new AtomicInteger();
    return exchange -> answers[Math.min(turn.getAndIncrement(), answers.length - 1)].to(exchange);
  }

  /** Asks for authentication unless it is there already. */
  Answer guarded(String authorization, String challenge, Answer answer) {
    return exchange -> {
      if (authorization.equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
        answer.to(exchange);
      } else {
        exchange.getResponseHeaders().set("WWW-Authenticate", challenge);
        exchange.sendResponseHeaders(401, -1);
      }
    };
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
