package dev.platter.dialect;

import dev.platter.model.ByteSize;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * The fields of one YAML mapping. A reader asks for each field it knows and then calls {@link
 * #done()}, which reports the fields nobody asked for. Nothing throws: what is wrong goes to {@link
 * Problems} and the answer is null, so that one pass finds everything.
 */
final class Fields {
  private final Map<String, Node> nodes = new LinkedHashMap<>();
  private final Map<String, Node> keys = new LinkedHashMap<>();
  private final HashSet<String> asked = new HashSet<>();
  private final String path;
  private final Optional<Mark> mark;
  private final Problems problems;

  private Fields(String path, Optional<Mark> mark, Problems problems) {
    this.path = path;
    this.mark = mark;
    this.problems = problems;
  }

  static @Nullable Fields of(Node node, String path, Problems problems) {
    if (!(node instanceof MappingNode mapping)) {
      problems.add(
          node.getStartMark(),
          path,
          "expected a mapping (fields with values), found " + kind(node));
      return null;
    }
    var fields = new Fields(path, node.getStartMark(), problems);
    for (var entry : mapping.getValue()) {
      if (!(entry.getKeyNode() instanceof ScalarNode key)) {
        problems.add(entry.getKeyNode().getStartMark(), path, "a field's name must be plain text");
        continue;
      }
      if (fields.nodes.putIfAbsent(key.getValue(), entry.getValueNode()) != null) {
        problems.add(key.getStartMark(), fields.path(key.getValue()), "the field is given twice");
      }
      fields.keys.put(key.getValue(), key);
    }
    return fields;
  }

  /** The same of texts that were never YAML. */
  static Fields of(Map<String, String> texts, String path, Problems problems) {
    var fields = new Fields(path, Optional.empty(), problems);
    texts.forEach(
        (name, text) -> fields.nodes.put(name, new ScalarNode(Tag.STR, text, ScalarStyle.PLAIN)));
    return fields;
  }

  String path(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  boolean has(String key) {
    return nodes.containsKey(key);
  }

  java.util.Set<String> names() {
    return nodes.keySet();
  }

  private @Nullable Node take(String key) {
    asked.add(key);
    var node = nodes.get(key);
    return node == null || node.getTag().equals(Tag.NULL) ? null : node;
  }

  @Nullable Node node(String key) {
    return take(key);
  }

  /** Notes that the field is known though it means nothing here. */
  void ignore(String... known) {
    asked.addAll(List.of(known));
  }

  @Nullable String text(String key) {
    var node = take(key);
    if (node == null) {
      return null;
    }
    if (!(node instanceof ScalarNode scalar)) {
      problem(key, "expected text, found " + kind(node));
      return null;
    }
    return scalar.getValue();
  }

  @Nullable String requiredText(String key, String example) {
    var text = text(key);
    if (text == null && !has(key)) {
      problems.add(
          mark,
          path,
          "the field '" + key + "' is missing; write, for example, " + key + ": " + example);
    } else if (text == null ? node(key) == null : text.isBlank()) {
      problem(key, "must not be empty; write, for example, " + key + ": " + example);
      return null;
    }
    return text;
  }

  /** Parses the text with {@code parser}, whose IllegalArgumentException becomes a problem. */
  <T> @Nullable T parsed(String key, Function<String, T> parser) {
    var text = text(key);
    if (text == null) {
      return null;
    }
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException e) {
      problem(key, String.valueOf(e.getMessage()));
      return null;
    }
  }

  @Nullable ByteSize size(String key) {
    return this.<ByteSize>parsed(key, ByteSize::parse);
  }

  @Nullable Integer integer(String key, int least, int most) {
    return this.<Integer>parsed(
        key,
        text -> {
          if (!text.matches("\\d{1,9}")
              || Integer.parseInt(text) < least
              || Integer.parseInt(text) > most) {
            throw new IllegalArgumentException(
                "expected a whole number from " + least + " to " + most + ", found '" + text + "'");
          }
          return Integer.parseInt(text);
        });
  }

  boolean flag(String key) {
    var value =
        this.<Boolean>parsed(
            key,
            text ->
                switch (text) {
                  case "true" -> true;
                  case "false" -> false;
                  default ->
                      throw new IllegalArgumentException(
                          "expected true or false, found '" + text + "'");
                });
    return value != null && value;
  }

  /** One of several words. */
  <T> @Nullable T word(String key, Map<String, T> words) {
    return this.<T>parsed(
        key,
        text -> {
          var value = words.get(text);
          if (value == null) {
            throw new IllegalArgumentException(
                "expected one of "
                    + words.keySet().stream().sorted().collect(Collectors.joining(", "))
                    + "; found '"
                    + text
                    + "'");
          }
          return value;
        });
  }

  @Nullable Fields fields(String key) {
    var node = take(key);
    return node == null ? null : of(node, path(key), problems);
  }

  /** As {@link #fields}, with names that may have any case. */
  @Nullable Fields folded(String key) {
    var fields = fields(key);
    if (fields == null) {
      return null;
    }
    var folded = new Fields(fields.path, fields.mark, problems);
    fields.nodes.forEach(
        (name, node) -> {
          var lower = name.toLowerCase(Locale.ROOT);
          if (folded.nodes.putIfAbsent(lower, node) != null) {
            fields.problem(name, "the option is given twice, in different case");
          }
          folded.keys.put(lower, fields.keys.getOrDefault(name, node));
        });
    return folded;
  }

  @Nullable Fields requiredFields(String key) {
    var node = take(key);
    if (node == null) {
      problems.add(mark, path, "the field '" + key + "' is missing");
      return null;
    }
    return of(node, path(key), problems);
  }

  List<Node> items(String key) {
    var node = take(key);
    if (node == null) {
      return List.of();
    }
    if (!(node instanceof SequenceNode sequence)) {
      problem(key, "expected a list, found " + kind(node));
      return List.of();
    }
    return sequence.getValue();
  }

  /** The mappings of a list; what else is in it is reported. */
  List<Fields> mappings(String key) {
    var out = new ArrayList<Fields>();
    var items = items(key);
    for (int i = 0; i < items.size(); i++) {
      var fields = of(items.get(i), path(key) + "[" + i + "]", problems);
      if (fields != null) {
        out.add(fields);
      }
    }
    return out;
  }

  List<String> texts(String key) {
    var out = new ArrayList<String>();
    for (var item : items(key)) {
      if (item instanceof ScalarNode scalar) {
        out.add(scalar.getValue());
      } else {
        problems.add(item.getStartMark(), path(key), "expected text, found " + kind(item));
      }
    }
    return out;
  }

  /** A mapping of text to text, such as labels. */
  Map<String, String> textMap(String key) {
    var fields = fields(key);
    var out = new LinkedHashMap<String, String>();
    if (fields != null) {
      for (var name : fields.names()) {
        var text = fields.text(name);
        out.put(name, text == null ? "" : text);
      }
    }
    return out;
  }

  /** A mapping that cloud-init is given. */
  Map<String, Object> cloudConfig(String key) {
    return take(key) instanceof MappingNode node
        ? PlainValues.map(node, path(key), problems, true)
        : map(key);
  }

  Map<String, Object> map(String key) {
    var node = take(key);
    if (node == null) {
      return Map.of();
    }
    if (!(node instanceof MappingNode)) {
      problem(key, "expected a mapping (fields with values), found " + kind(node));
      return Map.of();
    }
    return PlainValues.map(node, path(key), problems, false);
  }

  /**
   * How much is wrong with the whole file so far; two readings tell whether something in between
   * failed.
   */
  int problemCount() {
    return problems.count();
  }

  Problems problems() {
    return problems;
  }

  void problem(String key, String message) {
    var at = keys.get(key);
    problems.add(at == null ? mark : at.getStartMark(), path(key), message);
  }

  void problem(String message) {
    problems.add(mark, path, message);
  }

  /** Reports the fields that nobody asked for. */
  void done() {
    for (var key : nodes.keySet()) {
      if (!asked.contains(key)) {
        problem(key, "unknown field" + Suggestion.among(key, asked));
      }
    }
  }

  static String kind(Node node) {
    return switch (node) {
      case MappingNode _ -> "a mapping";
      case SequenceNode _ -> "a list";
      case ScalarNode scalar ->
          scalar.getTag().equals(Tag.NULL) ? "nothing" : "'" + brief(scalar.getValue()) + "'";
      default -> "something else";
    };
  }

  static String brief(String text) {
    return text.length() > 40 ? text.substring(0, 40) + "…" : text;
  }
}
