package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAVAILABLE;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Requests with retries and redirects; knows HTTP, nothing of registries.
 *
 * <p>Redirects are followed by hand, because the rule is ours: credentials go to the origin they
 * are for and nowhere else, nothing goes over plain HTTP unless it stays on this machine or the
 * operator said so, and each address is checked. URLs are shown without their query, which is where
 * stores put their signatures. Only what can be done twice without harm is tried again.
 */
final class Transport {
  private static final int ATTEMPTS = 4;
  private static final int REDIRECTS = 5;

  /** Slower than this, a peer that takes our bytes is as good as silent. */
  private static final int BYTES_PER_SECOND = 64 << 10;

  private final Hosts hosts;
  private final Duration firstWait;
  private final Duration patience;

  Transport(RegistrySettings settings) {
    this(settings, Duration.ofMillis(300), Duration.ofSeconds(60));
  }

  /**
   * @param firstWait how long to wait before the second attempt; doubles from then on
   * @param patience how long a peer may be silent
   */
  Transport(RegistrySettings settings, Duration firstWait, Duration patience) {
    this(new Hosts(settings, false), firstWait, patience);
  }

  private Transport(Hosts hosts, Duration firstWait, Duration patience) {
    this.hosts = hosts;
    this.firstWait = firstWait;
    this.patience = patience;
  }

  /** One that goes to any host by plain http, if that is what its URL says. */
  static Transport alsoPlain(RegistrySettings settings, Duration firstWait, Duration patience) {
    return new Transport(new Hosts(settings, true), firstWait, patience);
  }

  Backoff backoff() {
    return new Backoff(firstWait);
  }

  /** The answer of whoever the redirects led to; any status that is not worth a retry. */
  HttpResponse<InputStream> send(Call call, @Nullable String authorization) throws IOException {
    return send(call.uri(), call, authorization);
  }

  /**
   * The same.
   *
   * @param asked who led to what is called
   */
  HttpResponse<InputStream> send(URI asked, Call call, @Nullable String authorization)
      throws IOException {
    URI uri = call.uri();
    @Nullable String credentials = authorization;
    for (int redirects = 0; redirects <= REDIRECTS; redirects++) {
      HttpResponse<InputStream> response = attempts(asked, call.to(uri), credentials);
      int status = response.statusCode();
      // 301 to 303 turn a request into a GET; only 307 and 308 promise to leave it as it is.
      boolean readOnly = call.method().equals("GET") || call.method().equals("HEAD");
      if (!isRedirect(status) || (!readOnly && status < 307)) {
        return response;
      }
      response.body().close();
      URI next = next(uri, response.headers().firstValue("Location").orElse(""));
      if (!sameOrigin(uri, next)) {
        credentials = null;
      }
      uri = next;
    }
    throw new RegistryException(
        PROTOCOL, show(call.uri()) + " leads to more than " + REDIRECTS + " redirects");
  }

  /** Opens a connection for a request that is going to follow; false if it takes a request. */
  boolean prepare(URI uri) throws IOException {
    Optional<PlainGet> plain = hosts.plainGet(Call.get(uri, "*/*"));
    if (plain.isPresent()) {
      hosts.requireSafe(uri);
      hosts.requireAllowed(uri, uri);
      plain.get().prepare(uri, patience);
    }
    return plain.isPresent();
  }

  /**
   * Whether a peer that need not have TLS has it. It has none if, as podman has it too, it answers
   * without as a registry does: a server with TLS says 400 then, or nothing. That a connection
   * fails says neither; and who only keeps still has not said that there is no TLS.
   */
  boolean speaksTls(URI uri) throws IOException {
    try {
      once(uri, Call.get(uri, "*/*"), null).body().close();
      return true;
    } catch (RegistryException | InterruptedIOException e) {
      throw e;
    } catch (IOException e) {
      if (!(e.getCause() instanceof HttpTimeoutException) && answersPlainly(uri)) {
        return false;
      }
      throw new RegistryException(
          UNAVAILABLE, "cannot reach %s (%s); try again".formatted(show(uri), reason(e)), e);
    }
  }

  private boolean answersPlainly(URI https) throws IOException {
    URI uri = URI.create(https.toString().replaceFirst("^https:", "http:"));
    try {
      HttpResponse<InputStream> response = once(uri, Call.get(uri, "*/*"), null);
      response.body().close();
      return response.statusCode() == 200 || response.statusCode() == 401;
    } catch (RegistryException | InterruptedIOException e) {
      throw e;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * @param asked where redirects, if any, began
   */
  private HttpResponse<InputStream> attempts(URI asked, Call call, @Nullable String authorization)
      throws IOException {
    int attempts = call.isIdempotent() && !call.once() ? ATTEMPTS : 1;
    Backoff backoff = backoff();
    String after = attempts == 1 ? "" : ", also after " + attempts + " attempts";
    for (int attempt = 1; ; attempt++) {
      @Nullable HttpResponse<InputStream> response = null;
      try {
        response = once(asked, call, authorization);
        if (!isTemporary(response.statusCode())) {
          return response;
        }
        response.body().close();
        if (attempt == attempts) {
          throw new RegistryException(
              UNAVAILABLE,
              "%s answered %d%s; try again later"
                  .formatted(show(call.uri()), response.statusCode(), after));
        }
      } catch (RegistryException | InterruptedIOException e) {
        throw e;
      } catch (SSLException e) {
        throw new RegistryException(
            PROTOCOL,
            "no secure connection to %s: %s; is its certificate trusted on this machine?"
                .formatted(show(call.uri()), e.getMessage()),
            e);
      } catch (IOException e) {
        if (attempt == attempts) {
          throw new RegistryException(
              UNAVAILABLE,
              "cannot reach %s (%s)%s; check the name and the network"
                  .formatted(show(call.uri()), reason(e), after),
              e);
        }
      }
      backoff.pause(response, show(call.uri()));
    }
  }

  /** Addresses are checked each time, when all that is left to do is to connect. */
  private HttpResponse<InputStream> once(URI asked, Call call, @Nullable String authorization)
      throws IOException {
    hosts.requireSafe(call.uri());
    HttpRequest request = request(call, authorization);
    Runnable leave = hosts.enter(call.uri(), patience.multipliedBy(2));
    boolean answered = false;
    try {
      hosts.requireAllowed(asked, call.uri());
      String what = show(call.uri());
      Optional<PlainGet> plain = hosts.plainGet(call);
      HttpResponse<InputStream> response =
          plain.isPresent()
              ? plain.get().send(request, patience, what, leave)
              : hosts.client(call.uri()).send(request, _ -> new BodyStream(what, patience, leave));
      answered = true;
      return response;
    } catch (HttpTimeoutException e) {
      // It has no message, and is no InterruptedIOException to our callers.
      throw new IOException("no answer for " + patience.toSeconds() + " s", e);
    } catch (InterruptedException e) {
      throw interrupted(show(call.uri()));
    } finally {
      if (!answered) {
        leave.run();
      }
    }
  }

  private HttpRequest request(Call call, @Nullable String authorization) {
    Call.@Nullable Body body = call.body();
    Duration sending =
        body == null ? Duration.ZERO : Duration.ofSeconds(body.length() / BYTES_PER_SECOND);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(call.uri())
            .timeout(patience.plus(sending))
            .header("User-Agent", "platter")
            .method(call.method(), publisher(body));
    if (!call.headers().isEmpty()) {
      request.headers(call.headers().toArray(String[]::new));
    }
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    return request.build();
  }

  private static BodyPublisher publisher(Call.@Nullable Body body) {
    if (body == null || body.length() == 0) {
      return BodyPublishers.noBody();
    }
    return BodyPublishers.fromPublisher(
        BodyPublishers.ofInputStream(
            () -> {
              try {
                return body.source().open();
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            }),
        body.length());
  }

  private static boolean isRedirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  private static boolean isTemporary(int status) {
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
  }

  static InterruptedIOException interrupted(String what) {
    Thread.currentThread().interrupt();
    return new InterruptedIOException("interrupted while asking " + what);
  }

  private static String reason(IOException e) {
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }

  /** Where an answer of {@code from} may lead: never from https back to http. */
  static URI next(URI from, String location) throws RegistryException {
    if (location.isBlank()) {
      throw new RegistryException(PROTOCOL, show(from) + " leads on without saying where");
    }
    URI next;
    try {
      next = from.resolve(location.strip());
    } catch (IllegalArgumentException e) {
      throw new RegistryException(PROTOCOL, show(from) + " leads to something that is no URL");
    }
    String scheme = scheme(next);
    if (next.getHost() == null
        || next.getRawUserInfo() != null
        || !(scheme.equals("https") || scheme.equals("http"))) {
      throw new RegistryException(
          PROTOCOL, show(from) + " leads to " + show(next) + ", which is not https or http");
    }
    if (scheme(from).equals("https") && !scheme.equals("https")) {
      throw new RegistryException(
          PROTOCOL, show(from) + " leads from https to http, which is refused");
    }
    return next;
  }

  static boolean sameOrigin(URI one, URI other) {
    return scheme(one).equals(scheme(other))
        && String.valueOf(one.getHost()).equalsIgnoreCase(other.getHost())
        && port(one) == port(other);
  }

  static String scheme(URI uri) {
    return String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
  }

  private static int port(URI uri) {
    return uri.getPort() >= 0 ? uri.getPort() : scheme(uri).equals("https") ? 443 : 80;
  }

  static String show(URI uri) {
    String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
    return scheme(uri) + "://" + uri.getHost() + port + uri.getRawPath();
  }
}
