package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.Endpoint;
import dev.platter.model.PlatterException;
import dev.platter.plan.NetworkDisk;
import dev.platter.registry.AddressPolicy;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServerNamesTest {
  private static final Map<String, List<String>> NAMES =
      Map.of(
          "storage", List.of("10.1.2.3", "10.1.2.4"),
          "evil", List.of("127.0.0.1"),
          "half", List.of("10.1.2.3", "169.254.169.254"));

  private final ServerNames names =
      new ServerNames(AddressPolicy.otherMachines(), ServerNamesTest::look);

  private static List<InetAddress> look(String name) throws UnknownHostException {
    var out = new ArrayList<InetAddress>();
    for (var address : NAMES.getOrDefault(name, List.of(name))) {
      try {
        out.add(InetAddress.ofLiteral(address));
      } catch (IllegalArgumentException e) {
        throw new UnknownHostException(name);
      }
    }
    return out;
  }

  private static NetworkDisk disk(String protocol, String host, boolean tls) {
    return new NetworkDisk(protocol, "a/b", List.of(new Endpoint(host, 1)), null, tls, null);
  }

  @ParameterizedTest
  @ValueSource(strings = {"nbd", "iscsi", "rbd", "gluster"})
  void qemuIsGivenTheAddressThatWasLookedAt(String protocol) {
    assertThat(names.pinned(disk(protocol, "storage", false)).hosts())
        .containsExactly(new Endpoint("10.1.2.3", 1));
    for (var bad : List.of("evil", "half", "127.0.0.1", "169.254.169.254")) {
      assertThatThrownBy(() -> names.pinned(disk(protocol, bad, false)))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("this machine itself")
          .hasMessageContaining(protocol + "://" + bad);
    }
    assertThatThrownBy(() -> names.pinned(disk(protocol, "nowhere", false)))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("the name nowhere is not known");
  }

  @Test
  void aServerThatProvesItsNameKeepsIt() {
    assertThat(names.pinned(disk("nbd", "storage", true)).hosts())
        .containsExactly(new Endpoint("storage", 1));
  }

  @Test
  void theOwnerOfAMachineNamesWhatTheyLike() {
    var written = disk("nbd", "evil", false);
    assertThat(ServerNames.AS_WRITTEN.pinned(written)).isSameAs(written);
  }
}
