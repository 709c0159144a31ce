package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.redirect;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressPolicyTest {
  private static final AddressPolicy INTERNET = AddressPolicy.internetAnd(List.of());

  private FakeRegistry registry;

  @BeforeEach
  void start() throws IOException {
    registry = new FakeRegistry();
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.255.0.3",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:10.0.0.1",
        "::10.0.0.1",
        "fe80::1",
        "fec0::1",
        "fd00:ec2::254",
        "ff02::1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
      })
  void addressesThatAreNotOnTheInternetAreRefused(String address) throws IOException {
    assertThat(INTERNET.permits(InetAddress.getByName(address))).isFalse();
    assertThat(AddressPolicy.any().permits(InetAddress.getByName(address))).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "8.8.8.8",
        "172.15.255.255",
        "172.32.0.0",
        "100.128.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "64:ff9b::808:808",
        "2002:808:808::1"
      })
  void addressesOnTheInternetAreAllowed(String address) throws IOException {
    assertThat(INTERNET.permits(InetAddress.getByName(address))).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "10.1.0.0/16, 10.1.255.255, true",
    "10.1.0.0/16, 10.2.0.0, false",
    "10.128.0.0/9, 10.255.0.1, true",
    "10.128.0.0/9, 10.127.0.1, false",
    "10.1.2.3/32, 10.1.2.3, true",
    "0.0.0.0/0, 127.0.0.1, true",
    "0.0.0.0/0, ::1, false",
    "0.0.0.0/0, 169.254.169.254, false",
    "100.64.0.0/10, 100.64.0.1, true",
    "100.64.0.0/10, 100.100.100.200, false",
    "100.100.100.200/32, 100.100.100.200, true",
    "fc00::/7, fd00:ec2::254, false",
    "fc00::/7, fd00:ec3::254, true",
    "169.254.0.0/16, 169.254.1.1, true",
    "fd00:1::/32, fd00:1:ffff::1, true",
    "fd00:1::/32, fd00:2::1, false",
  })
  void theOperatorAllowsNetworks(String network, String address, boolean allowed)
      throws IOException {
    AddressPolicy policy = AddressPolicy.internetAnd(List.of(network));
    assertThat(policy.permits(InetAddress.getByName(address))).isEqualTo(allowed);
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1, false",
    "127.8.8.8, false",
    "0.0.0.0, false",
    "::1, false",
    "::ffff:127.0.0.1, false",
    "64:ff9b::7f00:1, false",
    "fe80::1, false",
    "169.254.169.254, false",
    "fd00:ec2::254, false",
    "224.0.0.1, false",
    "10.0.0.1, true",
    "198.18.0.1, true",
    "100.64.0.1, true",
    "fd12::1, true",
    "203.0.114.1, true",
  })
  void aDiskIsServedByAnyOtherMachine(String address, boolean permitted) throws IOException {
    assertThat(AddressPolicy.otherMachines().permits(InetAddress.getByName(address)))
        .isEqualTo(permitted);
  }

  /** Where networks of ours are allowed, who is far may still lead to none of them. */
  @Test
  void whatIsAllowedByNameIsNotAllowedToStrangers() throws IOException {
    AddressPolicy policy = AddressPolicy.internetAnd(List.of("10.0.0.0/8"));
    policy.requireRedirect("8.8.8.8", "10.0.0.1");
    assertThatThrownBy(() -> policy.leadingNoNearer().requireRedirect("8.8.8.8", "10.0.0.1"))
        .hasMessageContaining("8.8.8.8 leads nearer to this machine");
    policy.leadingNoNearer().requireRedirect("10.0.0.2", "10.0.0.1");
    policy.leadingNoNearer().require("10.0.0.1");
    assertThatThrownBy(() -> policy.leadingNoNearer().require("192.168.0.1"))
        .isInstanceOf(RegistryException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.0", "10.0.0.0/33", "localhost/8", "/8", "1.2.3/8", "::/129"})
  void whatIsNoNetworkIsRefused(String text) {
    assertThatThrownBy(() -> AddressPolicy.internetAnd(List.of(text)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + text + "' is no network");
  }

  private RegistryClient client(AddressPolicy policy, String host) {
    return FakeRegistry.eager(RegistrySettings.defaults().restrictedTo(policy), Credentials.none())
        .client(Reference.parse(host + "/vm:v1"));
  }

  private void assertRefused(RegistryClient client, String why) {
    assertThatThrownBy(client::resolve)
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.PROTOCOL))
        .hasMessageContaining(why);
  }

  @Test
  void aTenantCannotReachThisMachine() {
    assertRefused(
        client(INTERNET, registry.host()), "its address 127.0.0.1 is not on the internet");
    int port = Integer.parseInt(registry.host().replaceAll(".*:", ""));
    assertRefused(client(INTERNET, "localhost:" + port), "its address");
    assertThat(registry.requests).isEmpty();
  }

  @Test
  void aRedirectIsCheckedToo() {
    AddressPolicy thisMachine = AddressPolicy.internetAnd(List.of("127.0.0.1/32"));
    registry.on("/v2/vm/manifests/v1", redirect("https://169.254.169.254/latest/meta-data"));
    assertRefused(client(thisMachine, registry.host()), "169.254.169.254");
    registry.on("/v2/vm/manifests/v1", redirect("http://127.0.0.2/x"));
    assertRefused(client(thisMachine, registry.host()), "127.0.0.2");
  }

  /** Whoever runs a registry says where its token server is. */
  @Test
  void aTokenServerIsNoNearerThanItsRegistry() {
    AddressPolicy policy = AddressPolicy.anyBut(List.of("127.0.0.2/32"));
    registry.on(
        "/v2/vm/manifests/v1",
        registry.guarded("-", "Bearer realm=\"http://127.0.0.2:1/token\"", text("")));
    assertRefused(client(policy, registry.host()), "127.0.0.1 leads nearer to this machine");
    registry.on(
        "/v2/vm/manifests/v1",
        registry.guarded(
            "-", "Bearer realm=\"http://%s/token\"".formatted(registry.host()), text("")));
    registry.on("/token", redirect("http://127.0.0.2:1/token"));
    assertRefused(client(policy, registry.host()), "127.0.0.1 leads nearer to this machine");
  }

  @Test
  void aTokenServerIsCheckedToo() {
    AddressPolicy thisMachine = AddressPolicy.internetAnd(List.of("127.0.0.1/32"));
    registry.on(
        "/v2/vm/manifests/v1",
        registry.guarded("-", "Bearer realm=\"https://10.0.0.1/token\"", text("")));
    assertRefused(client(thisMachine, registry.host()), "10.0.0.1");
  }
}
