package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;
import static dev.platter.registry.RegistryException.Kind.UNAVAILABLE;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * What is kept for each host: its connections, its certificates, how many requests are under way.
 *
 * <p>Most hosts share one client. A host with certificates of its own, or one that need not show
 * any, has its own client, so that neither its client certificate nor its leniency can reach
 * another host by a redirect.
 */
final class Hosts {
  private final RegistrySettings settings;
  private final boolean plain;
  private final PlainGet plainGet;
  private @Nullable HttpClient ordinary;
  private final Map<String, HttpClient> special = new ConcurrentHashMap<>();
  private final Map<String, Semaphore> permits = new ConcurrentHashMap<>();

  /**
   * @param plain whether every host may be spoken to by plain http
   */
  Hosts(RegistrySettings settings, boolean plain) {
    this.settings = settings;
    this.plain = plain;
    this.plainGet = new PlainGet(plain ? null : new IdleConnections());
  }

  /** Made when it is first needed, which takes a while. */
  private synchronized HttpClient ordinary() {
    if (ordinary == null) {
      ordinary = builder().build();
    }
    return ordinary;
  }

  /**
   * For what needs no more than a connection to the server itself. A file of somebody's is one
   * request; of a registry many are wanted, of which the first have somebody waiting.
   */
  Optional<PlainGet> plainGet(Call call) {
    boolean simple =
        call.method().equals("GET")
            && Transport.scheme(call.uri()).equals("http")
            && (!settings.addresses().isAny()
                || (PlainGet.isStraight() && !settings.proxies().isFor(call.uri())));
    return simple ? Optional.of(plainGet) : Optional.empty();
  }

  private HttpClient.Builder builder() {
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(Duration.ofSeconds(10));
    if (!settings.addresses().isAny()) { // A proxy would look up names, and nobody could check.
      return builder.proxy(HttpClient.Builder.NO_PROXY);
    }
    return settings.proxies().isEmpty() ? builder : builder.proxy(settings.proxies().selector());
  }

  HttpClient client(URI uri) throws IOException {
    if (isProxied(uri)) {
      settings.proxies().require(uri);
    }
    if (!Transport.scheme(uri).equals("https")) {
      return ordinary();
    }
    String host = uri.getRawAuthority();
    boolean insecure = settings.isInsecure(host);
    Optional<HostFiles> certificates = settings.certificatesOf(host);
    if (!insecure && certificates.isEmpty()) {
      return ordinary();
    }
    HttpClient known = special.get(host);
    if (known == null) {
      // Made outside the map, since it reads files; a second one made meanwhile is dropped.
      HttpClient made =
          builder().sslContext(HostCertificates.context(certificates, insecure)).build();
      HttpClient other = special.putIfAbsent(host, made);
      known = other == null ? made : other;
    }
    return known;
  }

  /** Refuses all but https, plain http to this machine or where the operator said so. */
  void requireSafe(URI uri) throws IOException {
    boolean safe =
        uri.getHost() != null
            && uri.getRawUserInfo() == null
            && switch (Transport.scheme(uri)) {
              case "https" -> true;
              case "http" ->
                  plain
                      || Reference.isLoopback(uri.getHost())
                      || settings.isInsecure(uri.getRawAuthority());
              default -> false;
            };
    if (!safe) {
      throw new RegistryException(
          PROTOCOL,
          "refused to go to "
              + Transport.show(uri)
              + ": only https, plain http to this machine, or what registries.conf calls insecure");
    }
  }

  /**
   * Refuses addresses that are not for everybody, and to be led nearer to this machine than the
   * server is that was asked first. What a name meant is known for a minute, so it is to be
   * connected to at once.
   */
  void requireAllowed(URI asked, URI uri) throws IOException {
    settings.addresses().require(uri.getHost());
    if (!Transport.sameOrigin(asked, uri)) {
      try {
        settings.addresses().requireRedirect(asked.getHost(), uri.getHost());
      } catch (UnknownHostException e) {
        if (!isProxied(uri)) { // Else it may mean something to the proxy.
          throw e;
        }
      }
    }
  }

  private boolean isProxied(URI uri) {
    return settings.addresses().isAny() && settings.proxies().isFor(uri);
  }

  /** Waits for a place among the requests to this host; run the answer to give it back. */
  Runnable enter(URI uri, Duration patience) throws IOException {
    Semaphore free =
        permits.computeIfAbsent(
            uri.getRawAuthority(), _ -> new Semaphore(settings.connections(), true));
    try {
      if (!free.tryAcquire(patience.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new RegistryException(
            UNAVAILABLE,
            "all %d connections to %s have been in use for %d s; try again"
                .formatted(settings.connections(), uri.getRawAuthority(), patience.toSeconds()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for " + Transport.show(uri));
    }
    var left = new AtomicBoolean();
    return () -> {
      if (left.compareAndSet(false, true)) {
        free.release();
      }
    };
  }
}
