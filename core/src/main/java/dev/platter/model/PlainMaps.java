package dev.platter.model;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Maps, lists and scalars, as YAML and JSON have them. */
public final class PlainMaps {
  private PlainMaps() {}

  /** Maps are merged deeply, lists appended; for anything else what comes later wins. */
  public static Map<String, Object> merge(Map<String, Object> first, Map<String, Object> second) {
    var out = new LinkedHashMap<>(first);
    second.forEach(
        (key, value) -> {
          var known = out.get(key);
          out.put(key, known == null || value == null ? value : mergeValue(known, value));
        });
    return out;
  }

  @SuppressWarnings("unchecked") // keys of the maps that come from YAML and from us are text
  private static Object mergeValue(Object first, Object second) {
    if (first instanceof Map<?, ?> left && second instanceof Map<?, ?> right) {
      return merge((Map<String, Object>) left, (Map<String, Object>) right);
    }
    if (first instanceof List<?> left && second instanceof List<?> right) {
      var joined = new ArrayList<Object>(left);
      joined.addAll(right);
      return joined;
    }
    return second;
  }
}
