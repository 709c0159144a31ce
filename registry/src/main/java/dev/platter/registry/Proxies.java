package dev.platter.registry;

import static dev.platter.registry.RegistryException.Kind.PROTOCOL;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Which requests go by a proxy, in the words of curl and Docker: {@code HTTPS_PROXY}, {@code
 * HTTP_PROXY} and {@code NO_PROXY} of the environment, or the same in small letters.
 *
 * <p>A proxy is spoken to by plain HTTP and without a password. One that is not like that is an
 * error of the request that should go by it, and of no other. Nothing on this machine is asked for
 * by a proxy.
 *
 * @param http {@code [http://]HOST[:PORT]} for http, null for none
 * @param https the same for https
 * @param direct what needs none: {@code *}, names that stand for those below them too, addresses
 *     and networks; names and addresses with or without a port
 */
public record Proxies(@Nullable String http, @Nullable String https, List<String> direct) {
  static final Proxies NONE = new Proxies(null, null, List.of());

  public Proxies {
    direct = List.copyOf(direct);
  }

  static Proxies fromEnvironment(Map<String, String> environment) {
    String direct = either(environment, "no_proxy");
    return new Proxies(
        either(environment, "http_proxy"),
        either(environment, "https_proxy"),
        direct == null
            ? List.of()
            : Stream.of(direct.split(",", -1))
                .map(entry -> entry.strip().toLowerCase(Locale.ROOT))
                .filter(entry -> !entry.isEmpty())
                .toList());
  }

  private static @Nullable String either(Map<String, String> environment, String name) {
    String small = environment.getOrDefault(name, "");
    String value =
        small.isEmpty() ? environment.getOrDefault(name.toUpperCase(Locale.ROOT), "") : small;
    return value.isBlank() ? null : value.strip();
  }

  boolean isFor(URI uri) {
    return named(uri) != null && !Reference.isLoopback(uri.getHost()) && !isDirect(uri);
  }

  private @Nullable String named(URI uri) {
    return Transport.scheme(uri).equals("https") ? https : http;
  }

  /** Refuses a request that should go by a proxy of a kind that is not known here. */
  void require(URI uri) throws RegistryException {
    var _ = proxyOf(uri);
  }

  /** The proxy, if the request goes by one; not looked up yet. */
  private Optional<InetSocketAddress> proxyOf(URI uri) throws RegistryException {
    String named = named(uri);
    if (named == null || !isFor(uri)) {
      return Optional.empty();
    }
    try {
      URI proxy = new URI(named.contains("://") ? named : "http://" + named);
      if (Transport.scheme(proxy).equals("http")
          && proxy.getHost() != null
          && proxy.getRawUserInfo() == null) {
        return Optional.of(InetSocketAddress.createUnresolved(proxy.getHost(), port(proxy)));
      }
    } catch (URISyntaxException e) {
      // Without the cause: it quotes what may have a password in it.
    }
    throw new RegistryException(
        PROTOCOL,
        "cannot go to %s: the proxy in %s is not [http://]HOST[:PORT], without a password, which is"
                .formatted(
                    Transport.show(uri),
                    Transport.scheme(uri).equals("https") ? "HTTPS_PROXY" : "HTTP_PROXY")
            + " all that is known here; correct it, or name the host in NO_PROXY");
  }

  private static int port(URI uri) {
    return uri.getPort() >= 0 ? uri.getPort() : Transport.scheme(uri).equals("https") ? 443 : 80;
  }

  private boolean isDirect(URI uri) {
    String host = uri.getHost().toLowerCase(Locale.ROOT).replaceAll("^\\[|]$", "");
    return direct.stream().anyMatch(entry -> isMeant(entry, host, port(uri)));
  }

  private static boolean isMeant(String entry, String host, int port) {
    if (entry.equals("*") || entry.equals(host)) {
      return true;
    }
    if (entry.indexOf('/') >= 0) {
      return isInNetwork(entry, host);
    }
    String name = entry;
    if (entry.matches("[^:]+:[0-9]+|\\[.*]:[0-9]+")) {
      int colon = entry.lastIndexOf(':');
      if (!entry.substring(colon + 1).equals(Integer.toString(port))) {
        return false;
      }
      name = entry.substring(0, colon);
    }
    name = name.replaceFirst("^\\*?\\.", "").replaceAll("^\\[|]$", "");
    return host.equals(name) || host.endsWith("." + name);
  }

  private static boolean isInNetwork(String network, String host) {
    try {
      return Cidr.parse(network).contains(InetAddress.ofLiteral(host));
    } catch (IllegalArgumentException e) {
      return false; // Names are not looked up: the proxy may be there because that is impossible.
    }
  }

  boolean isEmpty() {
    return http == null && https == null;
  }

  /** Addresses of proxies may have passwords in them. */
  @Override
  public String toString() {
    return "Proxies[hidden]";
  }

  /** For the JDK's client; what {@link #require} refuses is not asked here. */
  ProxySelector selector() {
    return new ProxySelector() {
      @Override
      public List<Proxy> select(URI uri) {
        try {
          return List.of(
              proxyOf(uri)
                  .map(address -> new Proxy(Proxy.Type.HTTP, address))
                  .orElse(Proxy.NO_PROXY));
        } catch (RegistryException e) {
          throw new IllegalArgumentException(e);
        }
      }

      @Override
      public void connectFailed(URI uri, SocketAddress address, IOException failure) {
        // The request says so.
      }
    };
  }
}
