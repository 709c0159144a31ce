package dev.platter.model;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The objects that a claim is resolved from.
 *
 * @param claims by {@code NAMESPACE/NAME}
 * @param volumes by name
 * @param clusters the monitors of Ceph clusters, by the name that ceph-csi gives them
 */
public record Volumes(
    Map<String, Claim> claims, Map<String, Volume> volumes, Map<String, List<Endpoint>> clusters) {
  public static final Volumes NONE = new Volumes(Map.of(), Map.of(), Map.of());

  public Volumes {
    claims = Map.copyOf(claims);
    volumes = Map.copyOf(volumes);
    clusters = Map.copyOf(clusters);
  }

  public static Volumes of(Claim claim) {
    return new Volumes(Map.of(claim.key(), claim), Map.of(), Map.of());
  }

  public static Volumes of(Volume volume) {
    return new Volumes(Map.of(), Map.of(volume.name(), volume), Map.of());
  }

  /** Where both have an object, that of {@code other}. */
  public Volumes with(Volumes other) {
    return new Volumes(
        union(claims, other.claims),
        union(volumes, other.volumes),
        union(clusters, other.clusters));
  }

  private static <T> Map<String, T> union(Map<String, T> one, Map<String, T> other) {
    var all = new HashMap<>(one);
    all.putAll(other);
    return all;
  }
}
