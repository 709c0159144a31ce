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

  @Override
  public String toString() {
    return hosts.isEmpty() ? name : name + " on " + String.join(", ", hosts);
  }
}
