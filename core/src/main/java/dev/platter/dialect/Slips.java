package dev.platter.dialect;

import java.util.regex.Pattern;

/**
 * Explains the slips that people make when they paste YAML: tabs as indentation, and a dash before
 * a field that belongs to the list item above it. The YAML parser stops at the first with words
 * about tokens; this names every line and shows what to write, but for values: the line may be one
 * of a Secret.
 */
final class Slips {
  private static final Pattern TAB = Pattern.compile("^ *\\t[ \\t]*");
  private static final Pattern FIELD = Pattern.compile("^( *(?:- +)?[\\w./-]+:)(?: .*)?");
  private static final Pattern ITEM = Pattern.compile("^( *)- +[^\\s:#]+:.*");
  private static final Pattern STRAY =
      Pattern.compile("^( *)- +((?:source|target|access-mode|copy|driver|size|name|type|keep):.*)");

  private Slips() {}

  /** Reports every slip in the text; false if there is none. */
  static boolean report(String text, Problems problems) {
    var before = problems.count();
    var lines = text.lines().toList();
    var itemIndent = -1;
    for (var i = 0; i < lines.size(); i++) {
      var line = lines.get(i);
      if (TAB.matcher(line).find()) {
        problems.add(
            i + 1, "", "a tab is used as indentation, which YAML forbids" + write(spaces(line)));
        continue;
      }
      var item = ITEM.matcher(line);
      if (!item.matches()) {
        continue;
      }
      var indent = item.group(1).length();
      var stray = STRAY.matcher(line);
      if (stray.matches() && itemIndent >= 0 && indent == itemIndent + 2) {
        problems.add(
            i + 1,
            "",
            "the dash starts a new list item, but this field belongs to the disk above"
                + write(stray.group(1) + stray.group(2)));
      } else {
        itemIndent = indent;
      }
    }
    return problems.count() > before;
  }

  /** A tab stands for the next multiple of eight columns, as editors show it. */
  private static String spaces(String line) {
    var out = new StringBuilder();
    var i = 0;
    for (; i < line.length() && (line.charAt(i) == ' ' || line.charAt(i) == '\t'); i++) {
      var fill = line.charAt(i) == ' ' ? 1 : 8 - out.length() % 8;
      out.repeat(' ', fill);
    }
    return out + line.substring(i);
  }

  private static String write(String line) {
    var field = FIELD.matcher(line);
    if (!field.matches()) {
      return "; write spaces";
    }
    var value = line.substring(field.end(1)).isBlank() ? "" : " …";
    return "; write: '" + field.group(1) + value + "'";
  }
}
