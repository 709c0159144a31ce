package dev.platter.model;

import java.util.List;

/** A raw file in a GlusterFS volume. */
public record GlusterSource(List<Endpoint> hosts, String volume, String path) implements Source {
  public static final int DEFAULT_PORT = 24007;

  public GlusterSource {
    hosts = List.copyOf(hosts);
  }

  @Override
  public String kind() {
    return "gluster";
  }
}
