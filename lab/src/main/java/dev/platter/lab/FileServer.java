package dev.platter.lab;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The files of a directory over HTTP or HTTPS at a free port, by default of the loopback interface,
 * with single ranges and an ETag that changes with the file. Conditional requests, lists of ranges
 * and directory listings are left out.
 */
public final class FileServer implements AutoCloseable {
  private static final Pattern RANGE = Pattern.compile("bytes=(\\d{1,18})-(\\d{1,18})?");

  static {
    // Head and body of an answer are written apart: without this each answer waits for an ACK.
    System.setProperty("sun.net.httpserver.nodelay", "true");
  }

  private final String host;
  private final Path root;
  private final @Nullable Certificates certificates;
  private final @Nullable Header required;
  private final List<Request> requests = new CopyOnWriteArrayList<>();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private HttpServer server;

  /** Free when it was first taken; kept when the server comes back. */
  private final int port;

  private FileServer(
      String host, Path root, @Nullable Certificates certificates, @Nullable Header required) {
    this.host = host;
    this.root = root;
    this.certificates = certificates;
    this.required = required;
    server = serve(0);
    port = server.getAddress().getPort();
  }

  /** One header, as in {@code Authorization: Bearer secret}. */
  public record Header(String name, String value) {}

  /**
   * One request. {@code range} is empty if there was none; {@code bytes} is the length of the
   * answer's body, even if the client did not wait for all of it.
   */
  public record Request(String method, String path, String range, int status, long bytes) {}

  public static FileServer http(Path root) {
    return http(Loopback.HOST, root);
  }

  /** At another address of this machine, such as the one that a cluster's nodes reach. */
  public static FileServer http(String host, Path root) {
    return new FileServer(host, root, null, null);
  }

  public static FileServer https(Path root, Certificates certificates) {
    return new FileServer(Loopback.HOST, root, certificates, null);
  }

  /** Another server for the same files that answers 401 to requests without this header. */
  public FileServer requiring(Header header) {
    return new FileServer(host, root, certificates, header);
  }

  private HttpServer serve(int at) {
    try {
      var address = new InetSocketAddress(InetAddress.ofLiteral(host), at);
      HttpServer made;
      if (certificates == null) {
        made = HttpServer.create(address, 0);
      } else {
        HttpsServer secure = HttpsServer.create(address, 0);
        secure.setHttpsConfigurator(new HttpsConfigurator(certificates.serverContext()));
        made = secure;
      }
      made.createContext("/", this::answer);
      made.setExecutor(threads);
      made.start();
      return made;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      Path file = root.resolve("." + exchange.getRequestURI().getPath()).normalize();
      String method = exchange.getRequestMethod();
      if (required != null
          && !required.value().equals(exchange.getRequestHeaders().getFirst(required.name()))) {
        withoutBody(exchange, 401);
      } else if (!method.equals("GET") && !method.equals("HEAD")) {
        withoutBody(exchange, 405);
      } else if (!file.startsWith(root) || !Files.isRegularFile(file)) {
        withoutBody(exchange, 404);
      } else {
        send(exchange, file);
      }
    }
  }

  private void withoutBody(HttpExchange exchange, int status) throws IOException {
    remember(exchange, status, 0);
    exchange.sendResponseHeaders(status, -1);
  }

  private void send(HttpExchange exchange, Path file) throws IOException {
    long size = Files.size(file);
    var headers = exchange.getResponseHeaders();
    headers.set("Accept-Ranges", "bytes");
    headers.set("Content-Type", "application/octet-stream");
    headers.set(
        "ETag",
        "\"%x-%x\"".formatted(size, Files.getLastModifiedTime(file).toInstant().toEpochMilli()));

    long first = 0;
    long last = size - 1;
    int status = 200;
    // What is no single range is ignored, as the standard allows.
    Matcher range = RANGE.matcher(range(exchange));
    if (range.matches()) {
      first = Long.parseLong(range.group(1));
      last = range.group(2) == null ? last : Math.min(last, Long.parseLong(range.group(2)));
      status = 206;
      if (first > last) {
        headers.set("Content-Range", "bytes */" + size);
        withoutBody(exchange, 416);
        return;
      }
      headers.set("Content-Range", "bytes %d-%d/%d".formatted(first, last, size));
    }

    long length = last - first + 1;
    if (exchange.getRequestMethod().equals("HEAD")) {
      headers.set("Content-Length", Long.toString(length));
      withoutBody(exchange, status);
      return;
    }
    // Before it is sent: a client that has all of it may ask at once what was served.
    remember(exchange, status, length);
    exchange.sendResponseHeaders(status, length == 0 ? -1 : length);
    try (FileChannel in = FileChannel.open(file);
        OutputStream body = exchange.getResponseBody();
        WritableByteChannel out = Channels.newChannel(body)) {
      for (long done = 0; done < length; ) {
        long now = in.transferTo(first + done, length - done, out);
        if (now == 0) {
          throw new IOException(file + " became shorter");
        }
        done += now;
      }
    }
  }

  private void remember(HttpExchange exchange, int status, long bytes) {
    String path = exchange.getRequestURI().getPath();
    requests.add(new Request(exchange.getRequestMethod(), path, range(exchange), status, bytes));
  }

  private static String range(HttpExchange exchange) {
    String range = exchange.getRequestHeaders().getFirst("Range");
    return range == null ? "" : range;
  }

  public int port() {
    return port;
  }

  /** Of a file, by its path below the directory. */
  public String url(String path) {
    String scheme = certificates == null ? "http" : "https";
    return "%s://%s:%d/%s".formatted(scheme, host, port, path);
  }

  /** What was asked of it so far, in order. */
  public List<Request> requests() {
    return List.copyOf(requests);
  }

  /** How much it was asked for so far. */
  public long bytes() {
    return requests.stream().mapToLong(Request::bytes).sum();
  }

  /** Cuts all connections; its address answers to nobody. */
  public void stop() {
    server.stop(0);
  }

  /** The same files at the same address again. */
  public void restart() {
    stop();
    server = serve(port);
  }

  @Override
  public void close() {
    stop();
    threads.shutdownNow();
  }
}
