package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.registry.RegistryException.Kind;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code other} is a proxy; the names of servers mean nothing to anybody but it. */
class ProxiesTest extends AgainstFakeRegistry {
  private static final String HOST = "registry.invalid:5000";

  @TempDir Path home;

  private RegistrySettings settings(Map<String, String> environment, AddressPolicy policy) {
    return new RegistrySettings(
        List.of(RegistryConfig.insecure(HOST)),
        List.of(),
        policy,
        4,
        Proxies.fromEnvironment(environment));
  }

  private RegistrySettings proxied(String name) {
    return settings(Map.of(name, "http://" + other.host()), AddressPolicy.any());
  }

  private static byte[] read(RegistrySettings settings, String host) throws IOException {
    Registries registries = FakeRegistry.impatient(settings, Credentials.none());
    return read(registries.client(Reference.parse(host + "/vm:v1")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"HTTP_PROXY", "http_proxy"})
  void aRegistryWithoutTlsIsReadByTheProxy(String name) throws IOException {
    other.on("/v2/", text("{}"));
    other.on(BLOB_PATH, bytes(BLOB));
    assertThat(read(proxied(name), HOST)).isEqualTo(BLOB);
    assertThat(other.requests).endsWith("http://" + HOST + BLOB_PATH + " null");
  }

  @Test
  void aFileFromTheWebIsReadByTheProxy() throws IOException {
    other.on("/disk.img", bytes(BLOB));
    var files = new WebFiles(proxied("HTTP_PROXY"), Duration.ofMillis(1), Duration.ofSeconds(5));
    try (var file =
        files.getFrom(URI.create("http://files.invalid/disk.img"), 0, WebFiles.Version.UNKNOWN)) {
      assertThat(file.body().readAllBytes()).isEqualTo(BLOB);
    }
  }

  @Test
  void aRegistryWithTlsIsConnectedToByTheProxy() throws Exception {
    try (var proxy = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      var asked = new CompletableFuture<String>();
      Thread.ofVirtual().start(() -> refuse(proxy, asked));
      RegistrySettings settings =
          settings(Map.of("HTTPS_PROXY", "127.0.0.1:" + proxy.getLocalPort()), AddressPolicy.any());
      assertThatThrownBy(() -> read(settings, "secure.invalid"))
          .isInstanceOf(RegistryException.class)
          .hasMessageContaining("https://secure.invalid/");
      assertThat(asked.get(20, TimeUnit.SECONDS)).isEqualTo("CONNECT secure.invalid:443 HTTP/1.1");
    }
  }

  private static void refuse(ServerSocket proxy, CompletableFuture<String> asked) {
    while (!proxy.isClosed()) {
      try (var client = proxy.accept()) {
        var in =
            new BufferedReader(
                new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII));
        asked.complete(in.readLine());
        client
            .getOutputStream()
            .write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".getBytes());
      } catch (IOException e) {
        // The next one may do better, and there is none when the proxy is closed.
      }
    }
  }

  @Test
  void whatIsOnThisMachineIsNotAskedForByAProxy() throws IOException {
    registry.on(BLOB_PATH, bytes(BLOB));
    assertThat(read(proxied("HTTP_PROXY"), registry.host())).isEqualTo(BLOB);
    assertThat(other.requests).isEmpty();
  }

  /** Nobody could check where it leads. */
  @Test
  void whereAddressesAreRestrictedThereIsNoProxy() {
    RegistrySettings settings =
        settings(
            Map.of("HTTP_PROXY", "http://" + other.host()), AddressPolicy.internetAnd(List.of()));
    assertThatThrownBy(() -> read(settings, HOST)).isInstanceOf(IOException.class);
    assertThat(other.requests).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"socks5://p.io:1", "https://p.io", "http://joe:hunter2@p.io:3128", "http://", ":"})
  void aProxyOfAnotherKindIsAnErrorOfWhatShouldGoByIt(String proxy) throws IOException {
    RegistrySettings settings =
        settings(Map.of("HTTPS_PROXY", proxy, "NO_PROXY", "direct.io"), AddressPolicy.any());
    assertFails(
        Kind.PROTOCOL,
        "cannot go to https://r.invalid/v2/vm/blobs/",
        () -> read(settings, "r.invalid"));
    assertThat(settings.toString()).doesNotContain("hunter2");
    registry.on(BLOB_PATH, bytes(BLOB));
    assertThat(read(settings, registry.host())).isEqualTo(BLOB);
    settings.proxies().require(URI.create("https://direct.io/"));
  }

  @ParameterizedTest
  @CsvSource({
    "a.invalid, example.invalid",
    "example.invalid, example.invalid",
    "a.example.invalid, example.invalid",
    "a.example.invalid, .example.invalid",
    "a-example.invalid, example.invalid",
    "example.invalid.org.invalid, example.invalid",
    "Example.Invalid, eXample.invalid",
    "a.invalid, 'b.invalid, a.invalid'",
    "a.invalid, *",
    "192.0.2.7, 192.0.2.7",
    "192.0.2.7, 192.0.2.0/24",
    "192.0.3.7, 192.0.2.0/24",
    "a.invalid, ''",
  })
  void whoNeedsNoProxyIsAsForCurl(String host, String direct) throws IOException {
    other.on("/", text("by the proxy"));
    String answer =
        DockerRegistry.sh(
            home,
            "http_proxy=http://%s no_proxy='%s' curl -s --max-time 1 http://%s/ || true"
                .formatted(other.host(), direct, host));
    Proxies proxies =
        Proxies.fromEnvironment(Map.of("HTTP_PROXY", "http://" + other.host(), "NO_PROXY", direct));
    assertThat(proxies.isFor(URI.create("http://" + host + "/"))).isEqualTo(!answer.isEmpty());
  }

  @ParameterizedTest
  @CsvSource({
    "https://a.io/, a.io:443, false",
    "https://a.io:5000/, a.io:443, true",
    "https://b.a.io:5000/, a.io:5000, false",
    "https://b.a.io/, *.a.io, false",
    "https://[2001:db8::1]/, 2001:db8::1, false",
    "https://[2001:db8::1]:5000/, [2001:db8::1]:5000, false",
    "https://[2001:db8::1]/, 2001:db8::/32, false",
    "https://localhost:5000/, x.io, false",
    "https://127.0.0.1:5000/, x.io, false",
    "https://x.io:5000/, y.io, true",
  })
  void portsStarsAndNetworksMayBeNamed(String uri, String direct, boolean proxied) {
    Proxies proxies =
        Proxies.fromEnvironment(Map.of("HTTPS_PROXY", "proxy.io:3128", "NO_PROXY", direct));
    assertThat(proxies.isFor(URI.create(uri))).isEqualTo(proxied);
  }
}
