package dev.platter.registry;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * Files by plain HTTP/1.1, each on a connection that is its own meanwhile. The JDK's client is made
 * for many requests at a time and for TLS: to start it takes longer than most files do, and each
 * byte of a disk goes through lists of buffers and several threads. Here it goes from the socket to
 * where the reader wants it.
 *
 * <p>What can be read in two ways is refused: several lengths, a length beside chunks, a head on
 * several lines.
 */
final class PlainGet {
  private static final int MOST_HEAD = 64 << 10;
  private static final int MOST_HINTS = 16;
  private static final int CONNECT_MILLIS = 10_000;
  private static final Pattern STATUS =
      Pattern.compile("HTTP/1\\.[01] (?<status>[1-5][0-9]{2})( .*)?");
  private static final Pattern HEADER =
      Pattern.compile(
          "(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):(?<value>[\\t\\x20-\\x7e\\x80-\\xff]*)");

  private final @Nullable IdleConnections idle;

  /**
   * @param idle where connections wait for the next request; null if each is for one
   */
  PlainGet(@Nullable IdleConnections idle) {
    this.idle = idle;
  }

  /** Whether nothing stands between us and servers, as the JDK's client would have it. */
  static boolean isStraight() {
    return System.getProperty("http.proxyHost") == null
        && System.getProperty("socksProxyHost") == null
        && !Boolean.getBoolean("java.net.useSystemProxies");
  }

  /**
   * Returns when the head of the answer is there.
   *
   * @param patience how long the head may take, and the server be silent later
   * @param what it is, for messages
   * @param over told when the connection has no more to do; perhaps more than once
   */
  HttpResponse<InputStream> send(HttpRequest request, Duration patience, String what, Runnable over)
      throws IOException {
    @Nullable PlainConnection used = idle == null ? null : idle.take(request.uri());
    if (used != null) {
      try {
        return exchange(used, request, what, over);
      } catch (HttpTimeoutException e) {
        throw e;
      } catch (IOException e) {
        // A server may close what it has not heard of for a while, also while we ask.
        if (used.isAnswered() || Thread.currentThread().isInterrupted()) {
          throw e;
        }
      }
    }
    return exchange(new PlainConnection(connected(request.uri()), patience), request, what, over);
  }

  /** Opens a connection for a request that is going to follow. */
  void prepare(URI uri, Duration patience) throws IOException {
    if (idle != null) {
      idle.give(uri, new PlainConnection(connected(uri), patience));
    }
  }

  private HttpResponse<InputStream> exchange(
      PlainConnection connection, HttpRequest request, String what, Runnable over)
      throws IOException {
    try {
      connection.ask(head(request));
      var answer = answer(connection);
      connection.headIsRead();
      return new Response(
          request, answer.status, answer.headers, body(connection, request, answer, what, over));
    } catch (ClosedByInterruptException e) {
      connection.close();
      throw Transport.interrupted(what);
    } catch (IOException | RuntimeException e) {
      connection.close();
      throw e;
    }
  }

  /** What came with the head need not hold the connection until somebody looks at it. */
  private InputStream body(
      PlainConnection connection, HttpRequest request, Answer answer, String what, Runnable over)
      throws ProtocolException {
    long length = length(answer);
    IdleConnections others = idle;
    if (others == null || !answer.lasts) {
      return new PlainBody(connection, length, what, null, over);
    }
    Runnable again = () -> others.give(request.uri(), connection);
    byte @Nullable [] here = length < 0 ? null : connection.take(length);
    if (here == null) {
      return new PlainBody(connection, length, what, again, over);
    }
    again.run();
    over.run();
    return new ByteArrayInputStream(here);
  }

  static int port(URI uri) {
    return uri.getPort() < 0 ? 80 : uri.getPort();
  }

  private static SocketChannel connected(URI uri) throws IOException {
    int port = port(uri);
    @Nullable IOException failure = null;
    InetAddress[] addresses = InetAddress.getAllByName(uri.getHost());
    long end = System.nanoTime() + CONNECT_MILLIS * 1_000_000L;
    for (int i = 0; i < addresses.length; i++) {
      SocketChannel channel = SocketChannel.open();
      try {
        // Each has its share of the time that is left, and none has no time at all.
        long share = (end - System.nanoTime()) / 1_000_000 / (addresses.length - i);
        channel
            .socket()
            .connect(new InetSocketAddress(addresses[i], port), (int) Math.max(1, share));
        channel.socket().setTcpNoDelay(true);
        return channel;
      } catch (SocketTimeoutException e) { // It would count as an interrupt.
        channel.close();
        failure = new HttpConnectTimeoutException("no answer for " + CONNECT_MILLIS + " ms");
      } catch (ClosedByInterruptException e) {
        throw Transport.interrupted(Transport.show(uri));
      } catch (IOException e) {
        channel.close();
        failure = e;
      }
    }
    throw failure == null ? new IOException("no address") : failure;
  }

  private String head(HttpRequest request) {
    URI uri = request.uri();
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
    var lines = new StringBuilder("GET " + path + query + " HTTP/1.1\r\n");
    lines.append("Host: " + uri.getRawAuthority() + "\r\n");
    if (idle == null) {
      lines.append("Connection: close\r\n");
    }
    request
        .headers()
        .map()
        .forEach((name, values) -> values.forEach(v -> lines.append(name + ": " + v + "\r\n")));
    return lines.append("\r\n").toString();
  }

  /**
   * @param lasts whether the connection does, as far as the server says
   */
  private record Answer(int status, HttpHeaders headers, boolean lasts) {}

  private static Answer answer(PlainConnection connection) throws IOException {
    for (int hints = 0; hints <= MOST_HINTS; hints++) {
      int left = MOST_HEAD;
      String first = connection.line(left);
      Matcher status = STATUS.matcher(first);
      if (!status.matches()) {
        throw new ProtocolException("the server does not answer by HTTP/1.1");
      }
      Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
      left -= first.length();
      for (String line = connection.line(left); !line.isEmpty(); line = connection.line(left)) {
        left -= line.length() + 2;
        Matcher header = HEADER.matcher(line);
        if (!header.matches()) {
          throw new ProtocolException("a header of the answer is not NAME: VALUE on one line");
        }
        headers
            .computeIfAbsent(header.group("name"), _ -> new ArrayList<>())
            .add(header.group("value").strip());
      }
      int number = Integer.parseInt(status.group("status"));
      if (number >= 200) {
        var all = HttpHeaders.of(headers, (_, _) -> true);
        return new Answer(number, all, first.startsWith("HTTP/1.1") && lasts(all));
      }
    }
    throw new ProtocolException("the server does not come to its answer");
  }

  private static boolean lasts(HttpHeaders headers) {
    return headers.allValues("Connection").stream().allMatch("keep-alive"::equalsIgnoreCase);
  }

  /** {@link PlainBody#CHUNKED}, {@link PlainBody#UNTIL_CLOSED}, or how many bytes follow. */
  private static long length(Answer answer) throws ProtocolException {
    List<String> codings = answer.headers.allValues("Transfer-Encoding");
    List<String> lengths = answer.headers.allValues("Content-Length");
    if (answer.status == 204 || answer.status == 304) {
      return 0;
    }
    if (!codings.isEmpty()) {
      if (codings.size() > 1 || !codings.getFirst().equalsIgnoreCase("chunked")) {
        throw new ProtocolException("the answer comes as " + codings);
      }
      if (!lengths.isEmpty()) {
        throw new ProtocolException("the answer has a length, and comes in chunks");
      }
      return PlainBody.CHUNKED;
    }
    if (lengths.isEmpty()) {
      return PlainBody.UNTIL_CLOSED;
    }
    if (lengths.size() > 1 || !lengths.getFirst().matches("[0-9]{1,18}")) {
      throw new ProtocolException("the answer has the length " + lengths);
    }
    return Long.parseLong(lengths.getFirst());
  }

  private record Response(
      HttpRequest request, int statusCode, HttpHeaders headers, InputStream body)
      implements HttpResponse<InputStream> {
    @Override
    public Optional<HttpResponse<InputStream>> previousResponse() {
      return Optional.empty();
    }

    @Override
    public Optional<SSLSession> sslSession() {
      return Optional.empty();
    }

    @Override
    public URI uri() {
      return request.uri();
    }

    @Override
    public HttpClient.Version version() {
      return HttpClient.Version.HTTP_1_1;
    }
  }
}
