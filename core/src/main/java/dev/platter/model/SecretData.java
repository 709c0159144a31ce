package dev.platter.model;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Secret objects with their values, and logins for registries; in memory only. It shows nothing of
 * them: not as text, and not to JSON.
 */
public final class SecretData {
  public static final SecretData NONE = new SecretData(Map.of());

  private final Map<String, Map<String, byte[]>> secrets;
  private final ImageLogins logins;

  /**
   * @param secrets by {@code NAMESPACE/NAME}, then by key
   */
  public SecretData(Map<String, Map<String, byte[]>> secrets) {
    this(secrets, ImageLogins.NONE);
  }

  private SecretData(Map<String, Map<String, byte[]>> secrets, ImageLogins logins) {
    this.secrets = Map.copyOf(secrets);
    this.logins = logins;
  }

  public static SecretData of(ImageLogins logins) {
    return new SecretData(Map.of(), logins);
  }

  /** What the registries of the VM's images are told. */
  public ImageLogins logins() {
    return logins;
  }

  public boolean has(String name) {
    return secrets.containsKey(name);
  }

  /** All values of a Secret, by key. */
  public Optional<SortedMap<String, byte[]>> find(String name) {
    return Optional.ofNullable(secrets.get(name)).map(TreeMap::new);
  }

  public Optional<byte[]> find(String name, String key) {
    return Optional.ofNullable(secrets.getOrDefault(name, Map.of()).get(key)).map(byte[]::clone);
  }

  /** Where both have a Secret, that of {@code other}. */
  public SecretData with(SecretData other) {
    var all = new HashMap<>(secrets);
    all.putAll(other.secrets);
    return new SecretData(all, logins.with(other.logins));
  }

  @Override
  public String toString() {
    return secrets.size() + " secrets";
  }
}
