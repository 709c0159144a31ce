package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.ContainerPortBuilder;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class PasstCommandTest {
  private static String command(String resolver, ContainerPort... ports) {
    var words = PasstCommand.of(List.of(ports), resolver, Path.of("/p"), Path.of("/l"));
    return String.join(" ", words);
  }

  private static ContainerPort port(int number, String protocol) {
    return new ContainerPortBuilder().withContainerPort(number).withProtocol(protocol).build();
  }

  @Test
  void thePortsOfThePodAreTheGuests() {
    var command = command("", port(80, null), port(443, "TCP"), port(80, "TCP"), port(53, "UDP"));
    assertThat(command).contains("--tcp-ports 80,443 ").contains("--udp-ports 53 ");
    assertThat(command("", port(9, "SCTP"))).contains("--tcp-ports none --udp-ports none ");
  }

  @Test
  void theResolverOfThePodIsTheGuests() {
    assertThat(
            command(
                """
                # by the kubelet
                search default.svc.cluster.local svc.cluster.local example.org
                nameserver 10.96.0.10
                nameserver fd00::10
                options ndots:5
                """))
        .endsWith(
            " --dns 10.96.0.10 --dns fd00::10"
                + " --search default.svc.cluster.local --search svc.cluster.local"
                + " --search example.org");
  }

  /** Its author may write nearly anything into dnsConfig; passt ends at what it does not know. */
  @Test
  void whatPasstWouldNotTakeIsLeftOut() {
    assertThat(
            command(
                """
                search none a b c d e f g
                search --fd x;y
                nameserver 127.0.0.53
                nameserver resolver.example.org
                nameserver 10.0.0.1
                nameserver 10.0.0.2
                nameserver 10.0.0.3
                nameserver 10.0.0.4
                """))
        .endsWith(
            " --dns 10.0.0.1 --dns 10.0.0.2 --dns 10.0.0.3 --search a --search b --search c"
                + " --search d --search e --search f");
    assertThat(command("nameserver")).endsWith("--dns none --search none");
  }
}
