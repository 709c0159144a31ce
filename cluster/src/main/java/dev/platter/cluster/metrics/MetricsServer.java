package dev.platter.cluster.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;

/** Tells Prometheus the metrics, and the kubelet whether the program is ready. */
public final class MetricsServer implements AutoCloseable {
  private static final int BACKLOG = 16;

  private final HttpServer server;

  private MetricsServer(HttpServer server) {
    this.server = server;
  }

  public static MetricsServer start(
      InetSocketAddress address, Metrics metrics, BooleanSupplier ready) throws IOException {
    var server = HttpServer.create(address, BACKLOG);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext(
        "/metrics", exchange -> answer(exchange, 200, Metrics.CONTENT_TYPE, metrics.text()));
    server.createContext(
        "/readyz",
        exchange -> {
          var now = ready.getAsBoolean();
          answer(exchange, now ? 200 : 503, "text/plain", now ? "ok\n" : "not ready yet\n");
        });
    server.start();
    return new MetricsServer(server);
  }

  private static void answer(HttpExchange exchange, int status, String type, String text)
      throws IOException {
    try (exchange) {
      var bytes = text.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", type);
      exchange.sendResponseHeaders(status, bytes.length);
      exchange.getResponseBody().write(bytes);
    }
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
