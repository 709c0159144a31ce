package dev.platter.plan;

import java.util.List;

/**
 * What a lease is on.
 *
 * @param name the kind of source and its name there, such as {@code file:/disks/a.raw}
 * @param hosts for a network source the servers, {@code HOST:PORT}: the same name on servers that
 *     have no address in common is another source
 */
public record SourceName(String name, List<String> hosts) {
  public SourceName {
    hosts = List.copyOf(hosts);
  }

  /**
   * What a server offers on a socket of this machine.
   *
   * @param name has no space in it, which a path may have
   */
  static SourceName ofSocket(String protocol, String name, String socket) {
    return new SourceName(protocol + "+unix:" + name + " " + socket, List.of());
  }

  @Override
  public String toString() {
    return hosts.isEmpty() ? name : name + " on " + String.join(", ", hosts);
  }
}
