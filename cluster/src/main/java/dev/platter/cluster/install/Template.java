package dev.platter.cluster.install;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * YAML with places to fill in. A place is a whole value, never a part of one: what goes there is
 * either one text, which is quoted so that it stays one whatever is in it, or lines of YAML, which
 * are indented to where they stand. A place for lines that gets none takes its line with it.
 */
final class Template {
  private static final Pattern PLACE =
      Pattern.compile("( *)((?:- )?(?:[\\w./-]+: )?)\\$\\{(\\w+)}");

  private final Map<String, String> texts = new HashMap<>();
  private final Map<String, String> lines = new HashMap<>();

  Template text(String place, String text) {
    texts.put(place, quoted(text));
    return this;
  }

  Template lines(String place, String yaml) {
    lines.put(place, yaml);
    return this;
  }

  /** The resource of this name beside this class, filled in. */
  String fill(String resource) {
    var out = new StringBuilder();
    read(resource).lines().forEach(line -> out.append(line(line, resource)));
    return out.toString();
  }

  private String line(String line, String resource) {
    if (!line.contains("${")) {
      return line + "\n";
    }
    var place = PLACE.matcher(line);
    if (!place.matches()) {
      throw new IllegalStateException(resource + ": a place is a whole value: " + line);
    }
    var indent = place.group(1);
    var before = place.group(2);
    var name = place.group(3);
    var text = texts.get(name);
    if (text != null) {
      return indent + before + text + "\n";
    }
    var block = lines.get(name);
    if (block == null) {
      throw new IllegalStateException(resource + ": nobody fills in " + name);
    }
    if (before.isEmpty()) {
      return block.indent(indent.length());
    }
    return indent + before.stripTrailing() + "\n" + block.indent(indent.length() + 2);
  }

  /** As JSON has it, which YAML reads as well. */
  static String quoted(String text) {
    var out = new StringBuilder("\"");
    for (var i = 0; i < text.length(); i++) {
      var c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20 || c > 0x7e) {
        out.append("\\u%04x".formatted((int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  static String read(String resource) {
    try (var in = Template.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("the resource " + resource + " is missing");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
