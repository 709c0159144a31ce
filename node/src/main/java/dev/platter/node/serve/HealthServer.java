package dev.platter.node.serve;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** Tells a kubelet, or whoever asks, whether the process is alive and whether it serves. */
final class HealthServer implements AutoCloseable {
  private static final int BACKLOG = 16;

  /** Whoever reaches it may ask. The JDK's server reads them once, when it is first used. */
  private static final Map<String, String> LIMITS =
      Map.of(
          "sun.net.httpserver.maxReqTime", "5",
          "sun.net.httpserver.maxRspTime", "5",
          "sun.net.httpserver.maxReqHeaderSize", "8192",
          "jdk.httpserver.maxConnections", "64");

  private final HttpServer server;

  private HealthServer(HttpServer server) {
    this.server = server;
  }

  /**
   * @param trouble why the process is no good any more
   * @param waiting why it does not serve yet
   */
  static HealthServer start(
      InetSocketAddress address,
      Supplier<Optional<String>> trouble,
      Supplier<Optional<String>> waiting)
      throws IOException {
    LIMITS.forEach(System.getProperties()::putIfAbsent);
    var server = HttpServer.create(address, BACKLOG);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/livez", exchange -> answer(exchange, trouble.get()));
    server.createContext("/readyz", exchange -> answer(exchange, trouble.get().or(waiting)));
    server.start();
    return new HealthServer(server);
  }

  InetSocketAddress address() {
    return server.getAddress();
  }

  private static void answer(HttpExchange exchange, Optional<String> why) throws IOException {
    try (exchange) {
      var bytes = (why.orElse("ok") + "\n").getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
      exchange.sendResponseHeaders(why.isEmpty() ? 200 : 503, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
