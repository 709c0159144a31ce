package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.NOT_FOUND;
import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAUTHORIZED;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Files on web servers, by the rules for registries: certificates from {@code certs.d}, retries, no
 * way from https to http, a limit on silence. Plain http is allowed, since whoever names the URLs
 * owns the machine.
 */
public final class WebFiles {
  private static final Pattern RANGE =
      Pattern.compile("bytes (?<from>[0-9]{1,18})-(?<to>[0-9]{1,18})/(?<size>[0-9]{1,18})");

  private final Transport transport;
  private final @Nullable String authorization;

  public WebFiles(RegistrySettings settings) {
    this(settings, Duration.ofMillis(300), Duration.ofSeconds(60));
  }

  /**
   * @param firstWait how long to wait before the second attempt; doubles from then on
   * @param patience how long a server may be silent
   */
  public WebFiles(RegistrySettings settings, Duration firstWait, Duration patience) {
    this(Transport.alsoPlain(settings, firstWait, patience), null);
  }

  private WebFiles(Transport transport, @Nullable String authorization) {
    this.transport = transport;
    this.authorization = authorization;
  }

  /**
   * Loads what connections need. That takes a while, in which who is going to fetch a file may have
   * something else to do.
   */
  public static void prepare() throws IOException {
    var _ = AddressPolicy.any();
    SocketChannel.open().close();
    Selector.open().close();
  }

  /**
   * The same for somebody in particular.
   *
   * @param value of the header, which goes to the origin of a file's URL and to no other
   */
  public WebFiles withAuthorization(@Nullable String value) {
    return new WebFiles(transport, value);
  }

  /**
   * Which version of a file something is.
   *
   * @param tag a strong ETag, or empty
   * @param modified a Last-Modified, or empty
   */
  public record Version(String tag, String modified) {
    public static final Version UNKNOWN = new Version("", "");

    private static Version of(HttpHeaders headers) {
      String tag = headers.firstValue("ETag").orElse("");
      boolean strong = tag.startsWith("\"") && tag.length() <= 1024;
      String modified = headers.firstValue("Last-Modified").orElse("");
      return new Version(strong ? tag : "", modified.length() <= 64 ? modified : "");
    }

    /** Whether the server can tell this version from others. */
    public boolean isKnown() {
      return !tag.isEmpty() || !modified.isEmpty();
    }

    private String either() {
      return tag.isEmpty() ? modified : tag;
    }
  }

  /**
   * The bytes of a file from one of them on.
   *
   * @param from the first byte that comes; 0 if the server began anew
   * @param size of the whole file; -1 if the server does not say
   * @param at where the redirects led
   */
  public record Bytes(Version version, long from, long size, URI at, InputStream body)
      implements AutoCloseable {
    @Override
    public void close() throws IOException {
      body.close();
    }
  }

  /** Null if the file is still of the version that was known. */
  public @Nullable Bytes getIfOther(URI file, Version known) throws IOException {
    Call call = call(file);
    if (!known.tag().isEmpty()) {
      call = call.with("If-None-Match", known.tag());
    } else if (!known.modified().isEmpty()) {
      call = call.with("If-Modified-Since", known.modified());
    }
    HttpResponse<InputStream> response = transport.send(call, authorization);
    if (response.statusCode() == 304) {
      response.body().close();
      return null;
    }
    Bytes bytes = whole(file, response);
    // Not every server looks at conditions.
    if (known.isKnown() && bytes.version().equals(known)) {
      bytes.close();
      return null;
    }
    return bytes;
  }

  /** The rest of a file if it is still of that version, else all of it. */
  public Bytes getFrom(URI file, long from, Version version) throws IOException {
    if (from == 0 || !version.isKnown()) {
      return whole(file, transport.send(call(file), authorization));
    }
    Call call = call(file).with("Range", "bytes=" + from + "-").with("If-Range", version.either());
    HttpResponse<InputStream> response = transport.send(call, authorization);
    // Not every server looks at If-Range; one that does need not tell Last-Modified once more.
    Version now = Version.of(response.headers());
    boolean changed =
        (!version.tag().isEmpty() && !now.tag().equals(version.tag()))
            || (!version.modified().isEmpty()
                && !now.modified().isEmpty()
                && !now.modified().equals(version.modified()));
    if (response.statusCode() == 416 || (response.statusCode() == 206 && changed)) {
      response.body().close();
      return whole(file, transport.send(call(file), authorization));
    }
    return response.statusCode() == 206
        ? rest(file, response, from, version)
        : whole(file, response);
  }

  private static Call call(URI file) {
    return Call.get(file, "*/*").with("Accept-Encoding", "identity");
  }

  private static Bytes rest(
      URI file, HttpResponse<InputStream> response, long from, Version version) throws IOException {
    Matcher range = RANGE.matcher(response.headers().firstValue("Content-Range").orElse(""));
    boolean right =
        range.matches()
            && Long.parseLong(range.group("from")) == from
            && Long.parseLong(range.group("to")) == Long.parseLong(range.group("size")) - 1
            && ends(response.headers());
    if (!right) {
      response.body().close();
      throw new RegistryException(
          PROTOCOL,
          "%s was asked for the bytes from %d on and answered with others, or without a length"
              .formatted(Transport.show(file), from));
    }
    return new Bytes(
        version, from, Long.parseLong(range.group("size")), response.uri(), response.body());
  }

  /** Whether it can be told from an answer that it was cut short. */
  private static boolean ends(HttpHeaders headers) {
    return headers.firstValue("Content-Length").isPresent()
        || headers.firstValue("Transfer-Encoding").isPresent();
  }

  private static Bytes whole(URI file, HttpResponse<InputStream> response) throws IOException {
    int status = response.statusCode();
    if (status != 200) {
      response.body().close();
      throw new RegistryException(
          switch (status) {
            case 404, 410 -> NOT_FOUND;
            case 401, 403, 407 -> UNAUTHORIZED;
            default -> PROTOCOL;
          },
          "%s answered %d".formatted(Transport.show(file), status));
    }
    HttpHeaders headers = response.headers();
    String encoding = headers.firstValue("Content-Encoding").orElse("identity");
    OptionalLong length = headers.firstValueAsLong("Content-Length");
    boolean ends = ends(headers);
    if (!encoding.equals("identity") || !ends) {
      response.body().close();
      throw new RegistryException(
          PROTOCOL,
          Transport.show(file)
              + (ends
                  ? " comes packed, though it was asked for as it is"
                  : " comes without a length, so nobody could tell that it was cut short"));
    }
    return new Bytes(Version.of(headers), 0, length.orElse(-1), response.uri(), response.body());
  }
}
