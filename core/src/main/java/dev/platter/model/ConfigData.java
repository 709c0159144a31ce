package dev.platter.model;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** ConfigMap objects with their values. */
public final class ConfigData {
  public static final ConfigData NONE = new ConfigData(Map.of());

  private final Map<String, SortedMap<String, byte[]>> maps;

  private ConfigData(Map<String, SortedMap<String, byte[]>> maps) {
    this.maps = Map.copyOf(maps);
  }

  /**
   * @param name {@code NAMESPACE/NAME}
   */
  public static ConfigData of(String name, Map<String, byte[]> values) {
    return new ConfigData(Map.of(name, new TreeMap<>(values)));
  }

  public Optional<SortedMap<String, byte[]>> find(String name) {
    return Optional.ofNullable(maps.get(name));
  }

  /** Where both have a ConfigMap, that of {@code other}. */
  public ConfigData with(ConfigData other) {
    var all = new HashMap<>(maps);
    all.putAll(other.maps);
    return new ConfigData(all);
  }
}
