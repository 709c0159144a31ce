package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAVAILABLE;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * GET with retries and redirects; knows HTTP, nothing of registries.
 *
 * <p>Redirects are followed by hand, because the rule is ours: credentials go to the origin they
 * are for and nowhere else, and nothing goes over plain HTTP unless it stays on this machine. URLs
 * are shown without their query, which is where stores put their signatures.
 */
final class Transport {
  private static final int ATTEMPTS = 4;
  private static final int REDIRECTS = 5;
  private static final Duration MAX_WAIT = Duration.ofSeconds(20);

  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .followRedirects(HttpClient.Redirect.NEVER)
          .connectTimeout(Duration.ofSeconds(10))
          .build();
  private final Duration firstWait;
  private final Duration patience;

  Transport() {
    this(Duration.ofMillis(300), Duration.ofSeconds(60));
  }

  /**
   * @param firstWait how long to wait before the second attempt; doubles from then on
   * @param patience how long a peer may be silent
   */
  Transport(Duration firstWait, Duration patience) {
    this.firstWait = firstWait;
    this.patience = patience;
  }

  /** The answer of whoever the redirects led to; any status that is not worth a retry. */
  HttpResponse<InputStream> get(URI target, String accept, @Nullable String authorization)
      throws IOException {
    requireSafe(target);
    URI uri = target;
    @Nullable String credentials = authorization;
    for (int redirects = 0; redirects <= REDIRECTS; redirects++) {
      HttpResponse<InputStream> response = attempt(uri, accept, credentials);
      if (!isRedirect(response.statusCode())) {
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
        PROTOCOL, show(target) + " leads to more than " + REDIRECTS + " redirects");
  }

  private HttpResponse<InputStream> attempt(URI uri, String accept, @Nullable String authorization)
      throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .timeout(patience)
            .header("Accept", accept)
            .header("User-Agent", "platter");
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    Duration wait = firstWait;
    for (int attempt = 1; ; attempt++, wait = wait.multipliedBy(2)) {
      @Nullable Duration asked = null;
      try {
        HttpResponse<InputStream> response =
            client.send(request.build(), _ -> new BodyStream(show(uri), patience));
        if (!isTemporary(response.statusCode())) {
          return response;
        }
        response.body().close();
        asked = retryAfter(response);
        if (attempt == ATTEMPTS) {
          throw new RegistryException(
              UNAVAILABLE,
              "%s answered %d, also after %d attempts; try again later"
                  .formatted(show(uri), response.statusCode(), attempt));
        }
      } catch (SSLException e) {
        throw new RegistryException(
            PROTOCOL,
            "no secure connection to %s: %s; is its certificate trusted on this machine?"
                .formatted(show(uri), e.getMessage()),
            e);
      } catch (RegistryException e) {
        throw e;
      } catch (IOException e) {
        if (attempt == ATTEMPTS) {
          throw new RegistryException(
              UNAVAILABLE,
              "cannot reach %s (%s), also after %d attempts; check the name and the network"
                  .formatted(show(uri), reason(e), attempt),
              e);
        }
      } catch (InterruptedException e) {
        throw interrupted(uri);
      }
      pause(asked != null ? asked : jittered(wait), uri);
    }
  }

  private static boolean isRedirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  private static boolean isTemporary(int status) {
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
  }

  /** Only the form in seconds, and no longer than a user would wait. */
  private static @Nullable Duration retryAfter(HttpResponse<?> response) {
    String value = response.headers().firstValue("Retry-After").orElse("");
    if (!value.matches("[0-9]{1,6}")) {
      return null;
    }
    Duration asked = Duration.ofSeconds(Long.parseLong(value));
    return asked.compareTo(MAX_WAIT) > 0 ? MAX_WAIT : asked;
  }

  /** So that many nodes that failed together do not come back together. */
  private static Duration jittered(Duration wait) {
    double factor = ThreadLocalRandom.current().nextDouble(0.5, 1.5);
    return Duration.ofNanos((long) (wait.toNanos() * factor));
  }

  private static void pause(Duration wait, URI uri) throws InterruptedIOException {
    try {
      Thread.sleep(wait);
    } catch (InterruptedException e) {
      throw interrupted(uri);
    }
  }

  private static InterruptedIOException interrupted(URI uri) {
    Thread.currentThread().interrupt();
    return new InterruptedIOException("interrupted while asking " + show(uri));
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
    requireSafe(next);
    if (scheme(from).equals("https") && !scheme(next).equals("https")) {
      throw new RegistryException(
          PROTOCOL, show(from) + " leads from https to http, which is refused");
    }
    return next;
  }

  /** Refuses all but https, and http to this machine. */
  private static void requireSafe(URI uri) throws RegistryException {
    boolean safe =
        uri.getHost() != null
            && uri.getRawUserInfo() == null
            && (scheme(uri).equals("https")
                || (scheme(uri).equals("http") && Reference.isLoopback(uri.getHost())));
    if (!safe) {
      throw new RegistryException(
          PROTOCOL,
          "refused to go to " + show(uri) + ": only https, or plain http to this machine");
    }
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
