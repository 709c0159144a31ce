package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TenantRulesTest {
  private static List<String> violations(String source, String more) {
    var text =
        """
        kind: VirtualMachine
        spec:
          %s
          domain: {devices: {disks: [{source: %s}]}}
        """
            .formatted(more, source);
    return TenantRules.violations(Manifests.read("vm.yaml", text).getFirst());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{file: /etc/shadow} | a file source is a path on a node",
        "{image: 'oci:/var/lib/platter:x'} | oci: is a directory on a node",
        "{image: 'OCI:/var/lib/platter:x'} | oci: is a directory on a node",
        "{image: 'oci:/var/lib/platter:x'}, persistent: a | oci: is a directory on a node",
        "{image: 'oci:/var/lib/platter:x'}, serve: iscsi | oci: is a directory on a node",
        "{containerImage: 'oci:/var/lib/platter:x'} | oci: is a directory on a node",
        "{containerImage: {image: 'oci:/var/lib/x:x'}} | oci: is a directory on a node",
        "{nbd: {socket: /run/libvirt/libvirt-sock}} | a socket is a path on a node",
        "{rbd: {monitors: [192.0.2.1], image: i, auth: {user: u, secret: {file: /etc/shadow}}}} | a secret's file",
        "{iscsi: {host: 192.0.2.1, portal: 'iqn.a:b', auth: {user: u, secret: {file: /etc/k}}}} | a secret's file",
        "{http: {url: 'https://a.example/d', ca: {file: /etc/k}}} | a secret's file",
        "{http: {url: 'https://a.example/d', headers: [{name: X, secret: {file: /etc/k}}]}} | a secret's file",
      })
  void whatBelongsToTheNodeIsRefused(String source, String why) {
    assertThat(violations(source, ""))
        .singleElement()
        .asString()
        .startsWith("disk sda: ")
        .contains(why);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "0",
        "localhost",
        "a.localhost",
        "LOCALHOST",
        "169.254.169.254",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "fe80::1",
        "::ffff:7f00:1",
        "fe80::1%eth0"
      })
  void theNodesOwnAddressesAreRefusedHoweverTheyAreWritten(String host) {
    assertThat(violations("{nbd: {host: '" + host + "'}}", ""))
        .singleElement()
        .asString()
        .contains("is the node itself");
  }

  @ParameterizedTest
  @ValueSource(strings = {"192.0.2.1", "storage.example", "2001:db8::1", "127.example", "10.0.0.1"})
  void otherHostsAreNot(String host) {
    assertThat(violations("{nbd: {host: '" + host + "'}}", "")).isEmpty();
  }

  @Test
  void portsOfTheNodeAreRefused() {
    assertThat(violations("{image: a}", "network: {publish: ['2222:22']}"))
        .singleElement()
        .asString()
        .contains("a port of the node");
  }

  @Test
  void aContainerIsForTheControllerToRunAndNotForANode() {
    var text =
        "kind: VirtualMachine\nmetadata: {name: a}\n"
            + "spec: {domain: {devices: {disks: [{source: {container: {image: a}}}]}}}";
    var vm = Manifests.read("vm.yaml", text).getFirst();
    assertThat(TenantRules.violations(vm)).isEmpty();
    assertThat(TenantRules.podViolations(vm))
        .containsExactly("disk sda: only a VirtualMachine object can have a container.");
  }
}
