package dev.platter.node;

import dev.platter.model.Endpoint;
import dev.platter.plan.SourceName;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;

/**
 * When two ways to write a source mean the same. In doubt they do: two writers who do not know of
 * each other cost a disk, a conflict that is none costs a message.
 *
 * <p>A file is known by its inode, as is a server's socket, and a device by its number, so that
 * links and hard links do not matter. A socket is made anew whenever its server starts, and all
 * numbers may be others after a reboot, so who held a lease before is asked again by path.
 *
 * <p>Targets, clusters and volumes are reached through many servers, so there the name alone
 * counts. Only servers on this machine's loopback are surely different where their ports are. NBD
 * has no such names: another server is another disk.
 *
 * @param key what a lease is filed under
 * @param addresses where the servers are now, {@code ADDRESS:PORT}; a name that means nothing here
 *     stays as it is written
 */
record SameSource(String key, SourceName written, Set<String> addresses) {
  private static final Set<String> BY_ADDRESS = Set.of("nbd", "http", "https");

  static SameSource of(SourceName written) throws IOException {
    return new SameSource(normalise(written.name()), written, addresses(written));
  }

  /**
   * @param source what the other lease was filed under
   */
  boolean isThatOf(String source, Leases.Holder other) {
    if (!written.hosts().isEmpty() && !other.written().hosts().isEmpty()) {
      return written.name().equals(other.written().name()) && sameServers(other.addresses());
    }
    return key.equals(source) || written.equals(other.written()) || key.equals(now(other));
  }

  private boolean sameServers(Set<String> others) {
    if (!Collections.disjoint(addresses, others) || isUnknown(addresses) || isUnknown(others)) {
      return true;
    }
    var protocol = written.name().substring(0, written.name().indexOf(':'));
    return !BY_ADDRESS.contains(protocol) && !(isLoopback(addresses) && isLoopback(others));
  }

  private static boolean isUnknown(Set<String> addresses) {
    return addresses.stream().anyMatch(text -> !isAddress(Endpoint.parse(text, 1).host()));
  }

  private static boolean isAddress(String host) {
    return host.contains(":") || host.matches("[0-9.]+");
  }

  private static boolean isLoopback(Set<String> addresses) {
    return addresses.stream()
        .map(text -> Endpoint.parse(text, 1).host())
        .allMatch(host -> host.startsWith("127.") || host.equals("0:0:0:0:0:0:0:1"));
  }

  /** What another's lease would be filed under today; empty if its source is gone. */
  private static String now(Leases.Holder other) {
    try {
      return normalise(other.written().name());
    } catch (IOException | RuntimeException e) {
      return "";
    }
  }

  private static String normalise(String written) throws IOException {
    var kind = written.substring(0, written.indexOf(':') + 1);
    var rest = written.substring(kind.length());
    return switch (kind) {
      case "file:" -> kind + inode(existing(rest));
      case "device:" -> kind + Files.getAttribute(existing(rest), "unix:rdev");
      case "nbd+unix:" -> {
        var space = rest.indexOf(' ') + 1;
        yield kind + rest.substring(0, space) + inode(existing(rest.substring(space)));
      }
      default -> written;
    };
  }

  private static Path existing(String file) {
    var path = Path.of(file);
    if (!Files.exists(path)) {
      throw LocalDisks.noSuchFile(path);
    }
    return path;
  }

  private static String inode(Path path) throws IOException {
    var file = Files.readAttributes(path, "unix:dev,ino");
    return file.get("dev") + ":" + file.get("ino");
  }

  private static Set<String> addresses(SourceName written) {
    var out = new TreeSet<String>();
    for (var text : written.hosts()) {
      var host = Endpoint.parse(text, 1);
      try {
        for (var address : InetAddress.getAllByName(host.host())) {
          out.add(new Endpoint(address.getHostAddress(), host.port()).toString());
        }
      } catch (UnknownHostException e) {
        out.add(host.toString());
      }
    }
    return out;
  }
}
