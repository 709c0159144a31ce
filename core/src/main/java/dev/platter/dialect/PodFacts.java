package dev.platter.dialect;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a pod can be told about itself.
 *
 * @param fields by the path that a {@code fieldRef} names
 * @param resources by the name that a {@code resourceFieldRef} has, such as {@code limits.cpu}; in
 *     bytes or in CPUs
 */
record PodFacts(
    Map<String, String> fields,
    Map<String, String> labels,
    Map<String, String> annotations,
    Map<String, BigDecimal> resources) {
  private static final Pattern KEYED =
      Pattern.compile("metadata\\.(labels|annotations)\\['([^']*)'\\]");

  String field(String path) {
    var keyed = KEYED.matcher(path);
    if (keyed.matches()) {
      var map = keyed.group(1).equals("labels") ? labels : annotations;
      return map.getOrDefault(keyed.group(2), "");
    }
    return switch (path) {
      case "metadata.labels" -> lines(labels);
      case "metadata.annotations" -> lines(annotations);
      default -> {
        var value = fields.get(path);
        if (value == null) {
          throw new IllegalArgumentException(
              "'"
                  + Fields.brief(path)
                  + "' is not known here"
                  + Suggestion.among(path, fields.keySet()));
        }
        yield value;
      }
    };
  }

  /** As the kubelet writes them. */
  private static String lines(Map<String, String> map) {
    return new TreeMap<>(map)
        .entrySet().stream()
            .map(entry -> entry.getKey() + "=" + quoted(entry.getValue()))
            .collect(Collectors.joining("\n"));
  }

  private static String quoted(String text) {
    var out = new StringBuilder("\"");
    for (var i = 0; i < text.length(); i++) {
      var c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> out.append('\\').append(c);
        case '\n' -> out.append("\\n");
        case '\t' -> out.append("\\t");
        case '\r' -> out.append("\\r");
        default -> out.append(c);
      }
    }
    return out.append('"').toString();
  }

  /** In units of the divisor, rounded up. */
  String resource(String name, @Nullable String divisor) {
    var value = resources.get(name);
    if (value == null) {
      throw new IllegalArgumentException(
          "the pod does not give '"
              + Fields.brief(name)
              + "'"
              + Suggestion.among(name, resources.keySet()));
    }
    var unit = divisor == null || divisor.equals("0") ? BigDecimal.ONE : Quantity.parse(divisor);
    if (unit.signum() <= 0) {
      throw new IllegalArgumentException("nothing can be divided by " + divisor);
    }
    return value.divide(unit, 0, RoundingMode.CEILING).toPlainString();
  }
}
