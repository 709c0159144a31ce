package dev.platter.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An image in a Ceph cluster.
 *
 * @param login for cephx
 */
public record RbdSource(
    List<Endpoint> monitors, String pool, String image, @Nullable Credentials login)
    implements Source {
  public static final int DEFAULT_PORT = 6789;

  public RbdSource {
    monitors = List.copyOf(monitors);
  }

  @Override
  public String kind() {
    return "rbd";
  }
}
