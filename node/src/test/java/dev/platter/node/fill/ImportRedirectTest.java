package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.platter.lab.Shell;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A web server that is shown a login, and sends us to another. */
class ImportRedirectTest {
  private static final Pattern RANGE = Pattern.compile("bytes=(\\d+)-(\\d+)");

  @TempDir Path work;
  private final List<String> logins = new CopyOnWriteArrayList<>();
  private final List<String> ranges = new CopyOnWriteArrayList<>();

  private interface Answer {
    void to(HttpExchange exchange) throws IOException;
  }

  private static HttpServer serve(Answer answer) throws IOException {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            answer.to(exchange);
          }
        });
    server.start();
    return server;
  }

  private static String url(HttpServer server) {
    return "http://127.0.0.1:%d/late.qcow2".formatted(server.getAddress().getPort());
  }

  private void send(Path file, HttpExchange exchange) throws IOException {
    var login = exchange.getRequestHeaders().getFirst("Authorization");
    if (login != null) {
      logins.add(login);
    }
    var wanted = exchange.getRequestHeaders().getFirst("Range");
    var range = RANGE.matcher(String.valueOf(wanted));
    exchange.getResponseHeaders().set("ETag", "\"1\"");
    try (var in = new RandomAccessFile(file.toFile(), "r")) {
      long from = 0;
      long to = in.length() - 1;
      if (range.matches()) {
        ranges.add(wanted);
        from = Long.parseLong(range.group(1));
        to = Long.parseLong(range.group(2));
        var text = "bytes %d-%d/%d".formatted(from, to, in.length());
        exchange.getResponseHeaders().set("Content-Range", text);
      }
      exchange.sendResponseHeaders(range.matches() ? 206 : 200, to - from + 1);
      in.seek(from);
      var piece = new byte[1 << 16];
      for (long left = to - from + 1; left > 0; ) {
        int n = in.read(piece, 0, (int) Math.min(piece.length, left));
        exchange.getResponseBody().write(piece, 0, n);
        left -= n;
      }
    }
  }

  @Test
  void aLoginStaysWithTheServerThatWasNamedAlsoByRanges() throws IOException {
    var late = work.resolve("late.qcow2");
    Shell.run("qemu-img", "create", "-f", "qcow2", "-o", "preallocation=metadata", late, "80M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 7 70M 64k", late);
    Shell.run("qemu-img", "resize", "-f", "qcow2", late, "2G");
    var shown = new CopyOnWriteArrayList<String>();
    var other = serve(exchange -> send(late, exchange));
    var named =
        serve(
            exchange -> {
              shown.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
              exchange.getResponseHeaders().set("Location", url(other));
              exchange.sendResponseHeaders(302, -1);
            });
    try {
      var layout = NodeConfig.layout(Optional.of(work.resolve("state")), Map.of());
      new DiskImport(url(named), work.resolve("out.raw"), Optional.empty(), null, 0, false)
          .run(
              new NodeConfig(layout, Optional.empty(), Optional.empty()),
              Map.of("PLATTER_WEB_AUTHORIZATION", "Bearer orchid"),
              Progress.NONE);
    } finally {
      named.stop(0);
      other.stop(0);
    }
    Shell.run("qemu-img", "compare", "-f", "qcow2", "-F", "raw", late, work.resolve("out.raw"));
    assertThat(shown).contains("Bearer orchid");
    assertThat(ranges).isNotEmpty();
    assertThat(logins).isEmpty();
  }
}
