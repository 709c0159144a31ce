package dev.platter.cluster.node;

import io.fabric8.kubernetes.api.model.ContainerPort;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How passt is told what a pod's guest gets: the addresses and routes that it finds in the pod by
 * itself, the pod's resolver, and the connections to the pod's ports.
 */
final class PasstCommand {
  /** As many as passt takes; it refuses more. */
  private static final int MOST_NAMESERVERS = 3;

  private static final int MOST_DOMAINS = 6;
  private static final Pattern DOMAIN = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,252}");

  private PasstCommand() {}

  /**
   * @param resolver the pod's resolv.conf
   * @param pid where it writes its number when it is ready; its file for as long as it lives
   */
  static List<String> of(List<ContainerPort> ports, String resolver, Path pid, Path log) {
    var out = new ArrayList<String>();
    out.addAll(List.of("passt", "--foreground", "--quiet"));
    out.addAll(List.of("--pid", pid.toString(), "--log-file", log.toString()));
    // The gateway is the gateway, and not a way to what listens on the pod's loopback.
    out.add("--no-map-gw");
    out.addAll(List.of("--tcp-ports", numbers(ports, "TCP")));
    out.addAll(List.of("--udp-ports", numbers(ports, "UDP")));
    all(out, "--dns", nameservers(resolver));
    all(out, "--search", domains(resolver));
    return out;
  }

  private static String numbers(List<ContainerPort> ports, String protocol) {
    var numbers =
        ports.stream()
            .filter(p -> protocol.equals(p.getProtocol() == null ? "TCP" : p.getProtocol()))
            .map(port -> port.getContainerPort().toString())
            .distinct()
            .collect(Collectors.joining(","));
    return numbers.isEmpty() ? "none" : numbers;
  }

  /** Without any it would look for them in a file, which is not the pod's. */
  private static void all(List<String> out, String option, List<String> values) {
    for (var value : values.isEmpty() ? List.of("none") : values) {
      out.addAll(List.of(option, value));
    }
  }

  private static List<String> nameservers(String resolver) {
    return words(resolver, "nameserver").stream()
        .filter(PasstCommand::isReachable)
        .distinct()
        .limit(MOST_NAMESERVERS)
        .toList();
  }

  private static boolean isReachable(String nameserver) {
    try {
      return !InetAddress.ofLiteral(nameserver).isLoopbackAddress();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static List<String> domains(String resolver) {
    return words(resolver, "search").stream()
        .filter(domain -> DOMAIN.matcher(domain).matches() && !domain.equals("none"))
        .distinct()
        .limit(MOST_DOMAINS)
        .toList();
  }

  private static List<String> words(String resolver, String key) {
    return resolver
        .lines()
        .map(line -> List.of(line.strip().split("\\s+")))
        .filter(line -> line.getFirst().equals(key))
        .flatMap(line -> line.stream().skip(1))
        .toList();
  }
}
