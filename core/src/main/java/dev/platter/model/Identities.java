package dev.platter.model;

import java.util.HashMap;
import java.util.Map;

/** The sets and identities that manifests hold. */
public record Identities(
    Map<IdentityKey, IdentitySet> sets, Map<IdentityKey, Identity> identities) {
  public static final Identities NONE = new Identities(Map.of(), Map.of());

  public Identities {
    sets = Map.copyOf(sets);
    identities = Map.copyOf(identities);
  }

  public static Identities of(IdentitySet set) {
    return new Identities(Map.of(set.key(), set), Map.of());
  }

  public static Identities of(Identity identity) {
    return new Identities(Map.of(), Map.of(identity.key(), identity));
  }

  /** Where both have an object, that of {@code other}. */
  public Identities with(Identities other) {
    var allSets = new HashMap<>(sets);
    allSets.putAll(other.sets);
    var all = new HashMap<>(identities);
    all.putAll(other.identities);
    return new Identities(allSets, all);
  }
}
