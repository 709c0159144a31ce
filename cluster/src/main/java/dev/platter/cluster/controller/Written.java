package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of an object of another project's kind, of which we honour some fields. Whoever writes one
 * of the others wants something that would not happen, and is told so.
 *
 * @param path where it is in the object
 */
record Written(String path, JsonNode node) {
  Written of(String field) {
    return new Written(path + "." + field, node.path(field));
  }

  boolean has(String field) {
    return node.hasNonNull(field);
  }

  List<String> names() {
    return node.properties().stream()
        .filter(field -> !field.getValue().isNull())
        .map(field -> field.getKey())
        .toList();
  }

  /** Null if it is not there, or empty. */
  @Nullable String text(String field) {
    var text = node.path(field).asText("");
    return text.isEmpty() ? null : text;
  }

  String required(String field, String example) {
    var text = text(field);
    if (text == null) {
      throw refused("." + field + " is missing", "Write it, such as " + example + ".");
    }
    return text;
  }

  void hasNothingBut(String... known) {
    for (var name : names()) {
      if (!Arrays.asList(known).contains(name)) {
        throw refused("." + name + " is not honoured by Platter", "Leave it out.");
      }
    }
  }

  /**
   * @param what begins where the path ends
   */
  PlatterException refused(String what, String next) {
    return PlatterException.of(Code.UNSUPPORTED, path + what, next);
  }
}
