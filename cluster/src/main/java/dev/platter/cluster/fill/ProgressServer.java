package dev.platter.cluster.fill;

import com.sun.net.httpserver.HttpServer;
import dev.platter.node.Progress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** Tells the controller how much has come: two numbers, which are no secret. */
final class ProgressServer implements Progress, AutoCloseable {
  private static final int BACKLOG = 16;

  private final HttpServer server;
  private volatile long done;
  private volatile long all = -1;

  private ProgressServer(HttpServer server) {
    this.server = server;
  }

  static ProgressServer start(int port) throws IOException {
    var http = HttpServer.create(new InetSocketAddress(port), BACKLOG);
    var out = new ProgressServer(http);
    http.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    http.createContext(
        "/progress",
        exchange -> {
          try (exchange) {
            var text = "{\"bytes\":%d,\"total\":%d}\n".formatted(out.done, out.all);
            var bytes = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
          }
        });
    http.start();
    return out;
  }

  int port() {
    return server.getAddress().getPort();
  }

  @Override
  public void bytes(String what, long bytes, long total) {
    done = bytes;
    all = total;
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
