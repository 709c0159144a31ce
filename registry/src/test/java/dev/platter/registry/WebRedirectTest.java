package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Web servers that send us to where only this machine gets. */
class WebRedirectTest {
  private static final String FAR = "127.0.0.1";
  private static final String NEAR = "127.0.0.2";

  /** Too long for anybody to be asked about it. */
  private static final String UNKNOWN = "x".repeat(64) + ".invalid";

  private final AtomicInteger asked = new AtomicInteger();
  private HttpServer far;
  private HttpServer near;

  @BeforeEach
  void start() throws IOException {
    far = serve(FAR);
    near = serve(NEAR);
  }

  @AfterEach
  void stop() {
    far.stop(0);
    near.stop(0);
  }

  /** {@code /to?URL} leads to URL; all else is a file. */
  private HttpServer serve(String host) throws IOException {
    var server = HttpServer.create(new InetSocketAddress(host, 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String to = exchange.getRequestURI().getQuery();
          if (host.equals(NEAR)) {
            asked.incrementAndGet();
          }
          if (to != null) {
            exchange.getResponseHeaders().set("Location", to);
            exchange.sendResponseHeaders(302, -1);
          } else {
            exchange.sendResponseHeaders(200, 4);
            exchange.getResponseBody().write("disk".getBytes(StandardCharsets.UTF_8));
          }
          exchange.close();
        });
    server.start();
    return server;
  }

  private static String url(HttpServer server, String path) {
    return "http://%s:%d%s"
        .formatted(
            server.getAddress().getAddress().getHostAddress(), server.getAddress().getPort(), path);
  }

  private static String get(AddressPolicy policy, String url) throws IOException {
    var files =
        new WebFiles(
            RegistrySettings.defaults().restrictedTo(policy),
            Duration.ofMillis(1),
            Duration.ofSeconds(10));
    try (var bytes = files.getFrom(URI.create(url), 0, WebFiles.Version.UNKNOWN)) {
      return new String(bytes.body().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void aServerOutsideLeadsNobodyInside() throws IOException {
    var policy = AddressPolicy.anyBut(List.of(NEAR + "/32"));
    assertThatThrownBy(() -> get(policy, url(far, "/to?" + url(near, "/metadata"))))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("127.0.0.1 leads nearer to this machine")
        .hasMessageContaining(NEAR);
    var detour = url(far, "/to?" + url(far, "/to%3F" + url(near, "/metadata")));
    assertThatThrownBy(() -> get(policy, detour)).isInstanceOf(RegistryException.class);
    assertThat(asked).hasValue(0);
    assertThat(get(policy, url(near, "/named"))).isEqualTo("disk");
    assertThat(get(policy, url(near, "/to?" + url(far, "/disk")))).isEqualTo("disk");
    assertThat(get(AddressPolicy.any(), url(far, "/to?" + url(near, "/disk")))).isEqualTo("disk");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "ftp://127.0.0.1/",
        "//",
        "http:///x"
      })
  void aRedirectLeadsToAWebServerOrNowhere(String location) {
    assertThatThrownBy(() -> get(AddressPolicy.any(), url(far, "/to?" + location)))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("leads");
  }

  @ParameterizedTest
  @CsvSource({
    "8.8.8.8, 1.1.1.1, true",
    "8.8.8.8, 10.0.0.1, false",
    "8.8.8.8, 127.0.0.1, false",
    "8.8.8.8, 2130706433, false",
    "8.8.8.8, 169.254.169.254, false",
    "8.8.8.8, ::1, false",
    "8.8.8.8, ::ffff:127.0.0.1, false",
    "2606:4700::1111, fd00::1, false",
    "10.0.0.1, 192.168.1.1, true",
    "10.0.0.1, 8.8.8.8, true",
    "10.0.0.1, 127.0.0.1, false",
    "10.0.0.1, 169.254.169.254, false",
    "127.0.0.1, 127.0.0.2, true",
    "127.0.0.1, ::1, true",
    "127.0.0.1, 10.0.0.1, true",
    "127.0.0.1, 169.254.169.254, false",
    "127.0.0.1, 168.63.129.16, false",
    "localhost, 169.254.169.254, false",
  })
  void redirectsLeadNoNearer(String server, String host, boolean followed) {
    if (followed) {
      assertThatNoException().isThrownBy(() -> AddressPolicy.any().requireRedirect(server, host));
    } else {
      assertThatThrownBy(() -> AddressPolicy.any().requireRedirect(server, host))
          .isInstanceOf(RegistryException.class)
          .hasMessageContaining(server + " leads nearer to this machine");
    }
  }

  /** Its connection may still be there when its name has gone. */
  @Test
  void aNameThatMeansNothingIsNoWayAround() {
    var any = AddressPolicy.any();
    assertThatThrownBy(() -> any.requireRedirect(UNKNOWN, NEAR))
        .isInstanceOf(UnknownHostException.class);
    assertThatThrownBy(() -> any.requireRedirect("8.8.8.8", UNKNOWN))
        .isInstanceOf(UnknownHostException.class);
  }

  @Test
  void whatOnlyAProxyMayKnowIsLeftToIt() {
    var before = ProxySelector.getDefault();
    ProxySelector.setDefault(ProxySelector.of(new InetSocketAddress(FAR, 3128)));
    try {
      assertThatNoException()
          .isThrownBy(() -> AddressPolicy.any().requireRedirect("8.8.8.8", UNKNOWN));
    } finally {
      ProxySelector.setDefault(before);
    }
  }

  /** As after a check: its own name server would say that there is no such name. */
  @Test
  void aNameLeadsToTheAddressThatWasChecked() throws IOException {
    CheckedAddresses.keep("rebound.invalid", InetAddress.getByName(FAR));
    var url = url(far, "/disk").replace(FAR, "rebound.invalid");
    assertThat(get(AddressPolicy.any(), url)).isEqualTo("disk");
    assertThat(get(AddressPolicy.internetAnd(List.of(FAR + "/32")), url)).isEqualTo("disk");
  }
}
