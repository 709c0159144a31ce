package dev.platter.model;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Which volume a claim gets, by the rules of Kubernetes' own controller: the one that the claim
 * names, or that names the claim, or else the smallest free one that has what the claim asks for.
 * Without a cluster nothing remembers a choice, so it must come out the same each time: claims
 * choose in the order of their names, volumes of one size are taken in the order of theirs.
 *
 * <p>Left out: label selectors, and classes that make volumes on demand.
 */
public final class Binding {
  private final Volumes volumes;
  private final Map<String, Volume> chosen = new HashMap<>();
  private final Map<String, String> taken = new HashMap<>();

  private Binding(Volumes volumes) {
    this.volumes = volumes;
    var claims = new TreeMap<>(volumes.claims());
    claims.values().forEach(claim -> named(claim).ifPresent(volume -> take(claim, volume)));
    for (var claim : claims.values()) {
      if (claim.volume() == null && !chosen.containsKey(claim.key())) {
        fitting(claim).stream().findFirst().ifPresent(volume -> take(claim, volume));
      }
    }
  }

  /** Empty if there is no volume for the claim. */
  public static Optional<Volume> of(Claim claim, Volumes volumes) {
    return Optional.ofNullable(new Binding(volumes).chosen.get(claim.key()));
  }

  private void take(Claim claim, Volume volume) {
    chosen.put(claim.key(), volume);
    taken.put(volume.name(), claim.key());
  }

  private Optional<Volume> named(Claim claim) {
    var name = claim.volume();
    if (name != null) {
      return Optional.ofNullable(volumes.volumes().get(name));
    }
    var found = keptFor(claim, volumes);
    return found.size() == 1 ? Optional.of(found.getFirst()) : Optional.empty();
  }

  /** The volumes that name the claim as theirs. */
  public static List<Volume> keptFor(Claim claim, Volumes volumes) {
    return volumes.volumes().values().stream()
        .filter(volume -> claim.key().equals(volume.claim()))
        .sorted(Comparator.comparing(Volume::name))
        .toList();
  }

  private List<Volume> fitting(Claim claim) {
    return volumes.volumes().values().stream()
        .filter(volume -> volume.claim() == null && !taken.containsKey(volume.name()))
        .filter(volume -> fits(claim, volume))
        .sorted(Comparator.comparing(Binding::capacity).thenComparing(Volume::name))
        .toList();
  }

  private static ByteSize capacity(Volume volume) {
    var capacity = volume.offer().capacity();
    return capacity == null ? ByteSize.of(0) : capacity;
  }

  private static boolean fits(Claim claim, Volume volume) {
    return volume.block() == claim.block()
        && volume.offer().storageClass().equals(claim.storageClass())
        && volume.offer().modes().containsAll(claim.modes())
        && capacity(volume).compareTo(claim.size()) >= 0;
  }
}
