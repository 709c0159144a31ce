package dev.platter.registry;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

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
