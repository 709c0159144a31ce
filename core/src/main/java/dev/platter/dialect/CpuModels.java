package dev.platter.dialect;

import dev.platter.model.CpuModel;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads a processor in libvirt's words, as YAML. Left out: caches, NUMA cells and what else a
 * {@code <cpu>} can have.
 */
final class CpuModels {
  static final CpuModel NONE = new CpuModel(List.of(), null, null, null, List.of());
  static final CpuModel HOST =
      new CpuModel(
          List.of(new CpuModel.Attribute("mode", "host-model")), null, null, null, List.of());

  private static final Pattern WORD = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._+-]{0,63}");
  private static final int MOST = 255;

  private final Map<?, ?> cpu;
  private final Set<String> known = new HashSet<>();

  private CpuModels(Map<?, ?> cpu) {
    this.cpu = cpu;
  }

  static CpuModel read(Object yaml) {
    if (!(yaml instanceof Map<?, ?> map)) {
      throw new IllegalArgumentException("expected a mapping, such as {mode: host-model}");
    }
    var reader = new CpuModels(map);
    var found = reader.read();
    for (var key : map.keySet()) {
      if (!reader.known.contains(String.valueOf(key))) {
        throw new IllegalArgumentException(
            "unknown field '"
                + Fields.brief(String.valueOf(key))
                + "'"
                + Suggestion.among(String.valueOf(key), reader.known));
      }
    }
    return found;
  }

  private CpuModel read() {
    var attributes = new ArrayList<CpuModel.Attribute>();
    for (var name : List.of("mode", "match", "check")) {
      var value = word(cpu, name);
      known.add(name);
      if (value != null) {
        attributes.add(new CpuModel.Attribute(name, value));
      }
    }
    known.addAll(List.of("vendor", "model", "topology", "features"));
    return new CpuModel(attributes, model(), word(cpu, "vendor"), topology(), features());
  }

  private CpuModel.@Nullable Model model() {
    return switch (cpu.get("model")) {
      case null -> null;
      case Map<?, ?> map ->
          new CpuModel.Model(
              required(map, map.containsKey("value") ? "value" : "name"), word(map, "fallback"));
      default -> new CpuModel.Model(required(cpu, "model"), null);
    };
  }

  private CpuModel.@Nullable Topology topology() {
    return switch (cpu.get("topology")) {
      case null -> null;
      case Map<?, ?> map ->
          new CpuModel.Topology(count(map, "sockets"), count(map, "cores"), count(map, "threads"));
      default -> throw new IllegalArgumentException("topology: expected sockets, cores, threads");
    };
  }

  private List<CpuModel.Feature> features() {
    var out = new ArrayList<CpuModel.Feature>();
    switch (cpu.get("features")) {
      case null -> {}
      case List<?> list -> {
        for (var item : list) {
          if (!(item instanceof Map<?, ?> map)) {
            throw new IllegalArgumentException("features: expected entries with policy and name");
          }
          out.add(new CpuModel.Feature(word(map, "policy"), required(map, "name")));
        }
      }
      default -> throw new IllegalArgumentException("features: expected a list");
    }
    return out;
  }

  private static int count(Map<?, ?> map, String key) {
    return switch (map.get(key)) {
      case null -> 1;
      case Long number when number >= 1 && number <= MOST -> number.intValue();
      default -> throw new IllegalArgumentException(key + ": expected a number from 1 to " + MOST);
    };
  }

  private static String required(Map<?, ?> map, String key) {
    var word = word(map, key);
    if (word == null) {
      throw new IllegalArgumentException(key + ": is missing");
    }
    return word;
  }

  private static @Nullable String word(Map<?, ?> map, String key) {
    var value = map.get(key);
    if (value == null) {
      return null;
    }
    var text = String.valueOf(value);
    if (!WORD.matcher(text).matches()) {
      throw new IllegalArgumentException(
          key + ": '" + Fields.brief(text) + "' is not a word that libvirt knows");
    }
    return text;
  }
}
