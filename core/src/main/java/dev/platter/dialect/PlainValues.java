package dev.platter.dialect;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * YAML nodes to plain maps, lists and scalars, for text that is passed on (cloud-init). Aliases
 * make a node tree a graph that can be exponentially larger than its text, so the number of values
 * is bounded.
 *
 * <p>cloud-init reads YAML 1.1, in which a plain {@code False} or {@code no} is a truth value. All
 * other words mean here what they mean in the file that they stand in.
 */
final class PlainValues {
  private static final int MOST_VALUES = 100_000;
  private static final int MOST_DEPTH = 100;

  private static final Set<String> TRUE =
      Set.of("True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON");
  private static final Set<String> FALSE =
      Set.of("False", "FALSE", "no", "No", "NO", "off", "Off", "OFF");

  private final String path;
  private final Problems problems;
  private final boolean cloudConfig;
  private int left = MOST_VALUES;

  /**
   * @param cloudConfig whether words that cloud-init takes for truth values are those
   */
  private PlainValues(String path, Problems problems, boolean cloudConfig) {
    this.path = path;
    this.problems = problems;
    this.cloudConfig = cloudConfig;
  }

  /** Empty, with a problem reported, if there is too much of it. */
  static Map<String, Object> map(Node node, String path, Problems problems, boolean cloudConfig) {
    var reader = new PlainValues(path, problems, cloudConfig);
    try {
      return reader.value(node, 0) instanceof Map<?, ?> map ? cast(map) : Map.of();
    } catch (TooMuchException e) {
      problems.add(
          node.getStartMark(),
          path,
          "more than " + MOST_VALUES + " values or " + MOST_DEPTH + " levels");
      return Map.of();
    }
  }

  /**
   * A text that is YAML: maps, lists and scalars; empty text is an empty map.
   *
   * @throws dev.platter.model.PlatterException with every problem of the text
   */
  static Object parse(String text, boolean cloudConfig) {
    var problems = new Problems("YAML");
    var documents = YamlDocuments.parse(text, problems);
    if (documents.isEmpty()) {
      return Map.of();
    }
    if (documents.size() > 1) {
      problems.add(documents.get(1).getStartMark(), "", "expected one YAML document");
    }
    var node = documents.getFirst();
    try {
      var value = new PlainValues("", problems, cloudConfig).value(node, 0);
      problems.throwIfAny();
      return value == null ? Map.of() : value;
    } catch (TooMuchException e) {
      problems.add(
          node.getStartMark(),
          "",
          "more than " + MOST_VALUES + " values or " + MOST_DEPTH + " levels");
      throw problems.toException();
    }
  }

  static Map<String, Object> cast(Map<?, ?> map) {
    var out = new LinkedHashMap<String, Object>();
    map.forEach((key, value) -> out.put(String.valueOf(key), value));
    return out;
  }

  private @Nullable Object value(Node node, int depth) {
    if (--left < 0 || depth > MOST_DEPTH) {
      throw new TooMuchException();
    }
    return switch (node) {
      case MappingNode mapping -> {
        var out = new LinkedHashMap<String, @Nullable Object>();
        for (var entry : mapping.getValue()) {
          if (entry.getKeyNode() instanceof ScalarNode key) {
            if (out.containsKey(key.getValue())) {
              problems.add(
                  key.getStartMark(), path, "the field '" + key.getValue() + "' is given twice");
            }
            out.put(key.getValue(), value(entry.getValueNode(), depth + 1));
          } else {
            problems.add(
                entry.getKeyNode().getStartMark(), path, "a field's name must be plain text");
          }
        }
        yield out;
      }
      case SequenceNode sequence -> {
        var out = new ArrayList<@Nullable Object>();
        for (var item : sequence.getValue()) {
          out.add(value(item, depth + 1));
        }
        yield out;
      }
      case ScalarNode scalar -> scalar(scalar);
      default -> null;
    };
  }

  private @Nullable Object scalar(ScalarNode node) {
    var text = node.getValue();
    if (cloudConfig && node.getScalarStyle() == ScalarStyle.PLAIN) {
      if (TRUE.contains(text) || FALSE.contains(text)) {
        return TRUE.contains(text);
      }
    }
    if (node.getTag().equals(Tag.NULL)) {
      return null;
    }
    if (node.getTag().equals(Tag.BOOL)) {
      return text.equals("true");
    }
    if (node.getTag().equals(Tag.INT) && text.matches("-?\\d{1,18}")) {
      return Long.parseLong(text);
    }
    if (node.getTag().equals(Tag.FLOAT) && text.matches("-?\\d{1,15}\\.\\d{1,15}")) {
      return Double.parseDouble(text);
    }
    return text;
  }

  private static final class TooMuchException extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }
}
