package dev.platter.cluster.webhook;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Objects of the API server as trees, in which fields that we do not know stay what they are. */
final class Json {
  static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  static ArrayNode list() {
    return MAPPER.createArrayNode();
  }

  /** The object in a field; an empty one, not in the tree, if there is none. */
  static ObjectNode object(JsonNode parent, String field) {
    return parent.get(field) instanceof ObjectNode object ? object : object();
  }

  static List<ObjectNode> objects(JsonNode parent, String field) {
    var out = new ArrayList<ObjectNode>();
    parent
        .path(field)
        .forEach(
            item -> {
              if (item instanceof ObjectNode object) {
                out.add(object);
              }
            });
    return out;
  }

  static @Nullable String text(JsonNode parent, String field) {
    var value = parent.path(field);
    return value.isTextual() ? value.textValue() : null;
  }

  static String text(JsonNode parent, String field, String fallback) {
    var text = text(parent, field);
    return text == null ? fallback : text;
  }

  static String write(JsonNode node) {
    try {
      return MAPPER.writeValueAsString(node);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a tree can always be written", e);
    }
  }

  /** One object, which its user may have written. */
  static ObjectNode read(String text, String what) {
    try {
      if (MAPPER.readTree(text) instanceof ObjectNode object) {
        return object;
      }
    } catch (JsonProcessingException e) {
      // What the parser says repeats the text, and that may hold a password.
    }
    throw refused(what + " is not a JSON object");
  }

  static PlatterException refused(String message) {
    return PlatterException.of(Code.INVALID, message, "");
  }
}
