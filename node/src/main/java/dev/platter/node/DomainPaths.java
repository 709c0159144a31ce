package dev.platter.node;

import java.util.HashSet;
import java.util.Set;
import org.w3c.dom.Element;
import org.w3c.dom.Text;

/** The paths that a domain names, wherever they stand in it. */
final class DomainPaths {
  private DomainPaths() {}

  static Set<String> of(Element element) {
    var out = new HashSet<String>();
    collect(element, out);
    return out;
  }

  private static void collect(Element element, Set<String> out) {
    var attributes = element.getAttributes();
    for (var i = 0; i < attributes.getLength(); i++) {
      add(attributes.item(i).getNodeValue(), out);
    }
    for (var child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element inner) {
        collect(inner, out);
      } else if (child instanceof Text text) {
        add(text.getData(), out);
      }
    }
  }

  private static void add(String value, Set<String> out) {
    if (value.strip().startsWith("/")) {
      out.add(value.strip());
    }
  }
}
