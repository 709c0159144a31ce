package dev.platter.plan;

/**
 * Writes indented XML. Every text and attribute goes through the same escaping, so that nothing a
 * user wrote can become markup; characters that XML cannot hold at all are refused.
 */
final class Xml {
  private final StringBuilder out = new StringBuilder();
  private int depth;

  Xml() {
    this(0);
  }

  /** Text that belongs so deep inside a document. */
  Xml(int depth) {
    this.depth = depth;
  }

  /** An element with children. Attributes are name, value, name, value, … */
  Xml open(String name, Runnable children, String... attributes) {
    start(name, attributes);
    out.append(">\n");
    depth++;
    children.run();
    depth--;
    indent().append("</").append(name).append(">\n");
    return this;
  }

  Xml empty(String name, String... attributes) {
    start(name, attributes);
    out.append("/>\n");
    return this;
  }

  Xml text(String name, String text, String... attributes) {
    start(name, attributes);
    out.append('>').append(escape(text)).append("</").append(name).append(">\n");
    return this;
  }

  private void start(String name, String... attributes) {
    indent().append('<').append(name);
    for (var i = 0; i < attributes.length; i += 2) {
      out.append(' ')
          .append(attributes[i])
          .append("='")
          .append(escape(attributes[i + 1]))
          .append('\'');
    }
  }

  private StringBuilder indent() {
    return out.repeat(' ', 2 * depth);
  }

  /** As it stands in what is written here. */
  static String escape(String text) {
    var escaped = new StringBuilder(text.length());
    for (var i = 0; i < text.length(); i++) {
      var c = text.charAt(i);
      switch (c) {
        case '<' -> escaped.append("&lt;");
        case '>' -> escaped.append("&gt;");
        case '&' -> escaped.append("&amp;");
        case '\'' -> escaped.append("&apos;");
        case '"' -> escaped.append("&quot;");
        case '\n', '\t', '\r' -> escaped.append("&#").append((int) c).append(';');
        default -> {
          if (c < 0x20 || c == 0xFFFE || c == 0xFFFF) {
            throw new IllegalArgumentException("XML cannot hold the character " + (int) c);
          }
          escaped.append(c);
        }
      }
    }
    return escaped.toString();
  }

  @Override
  public String toString() {
    return out.toString();
  }
}
