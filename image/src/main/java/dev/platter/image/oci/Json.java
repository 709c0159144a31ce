package dev.platter.image.oci;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Reads the documents of an image: bounded, strict, every error says which document and field.
 *
 * <p>A key that appears twice is refused, since readers disagree about which one counts.
 */
final class Json {
  /** What registries accept as a manifest. */
  static final int MAX_BYTES = 4 << 20;

  static final JsonMapper MAPPER =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(64)
                          .maxDocumentLength(MAX_BYTES)
                          .build())
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private Json() {}

  static ObjectNode object(byte[] bytes, String what) throws BadImageException {
    if (bytes.length > MAX_BYTES) {
      throw new BadImageException(
          what + " has " + bytes.length + " bytes, more than the limit of " + MAX_BYTES);
    }
    try {
      if (MAPPER.readTree(bytes) instanceof ObjectNode object) {
        return object;
      }
    } catch (IOException e) {
      throw new BadImageException(what + " is not valid JSON: " + Printable.of(firstLine(e)), e);
    }
    throw new BadImageException(what + " is not a JSON object");
  }

  private static String firstLine(IOException e) {
    return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
  }

  static ObjectNode requireObject(JsonNode parent, String field, String what)
      throws BadImageException {
    if (parent.get(field) instanceof ObjectNode object) {
      return object;
    }
    throw new BadImageException(what + " has no object '" + field + "'");
  }

  static String requireText(JsonNode parent, String field, String what) throws BadImageException {
    @Nullable String text = text(parent, field, what);
    if (text == null) {
      throw new BadImageException(what + " has no '" + field + "'");
    }
    return text;
  }

  static @Nullable String text(JsonNode parent, String field, String what)
      throws BadImageException {
    JsonNode value = parent.get(field);
    if (value == null || value.isNull()) {
      return null;
    }
    if (!value.isTextual()) {
      throw new BadImageException(what + ": '" + field + "' is not a string");
    }
    return value.textValue();
  }

  static List<JsonNode> requireArray(JsonNode parent, String field, String what)
      throws BadImageException {
    JsonNode value = parent.get(field);
    if (value == null || !value.isArray()) {
      throw new BadImageException(what + " has no list '" + field + "'");
    }
    return StreamSupport.stream(value.spliterator(), false).toList();
  }

  static long requireSize(JsonNode parent, String field, String what) throws BadImageException {
    JsonNode value = parent.get(field);
    if (value == null || !value.isIntegralNumber() || !value.canConvertToLong()) {
      throw new BadImageException(what + ": '" + field + "' is not a whole number of bytes");
    }
    if (value.longValue() < 0) {
      throw new BadImageException(what + ": '" + field + "' is negative");
    }
    return value.longValue();
  }

  static Map<String, String> strings(JsonNode parent, String field, String what)
      throws BadImageException {
    JsonNode value = parent.get(field);
    if (value == null || value.isNull()) {
      return Map.of();
    }
    if (!value.isObject()) {
      throw new BadImageException(what + ": '" + field + "' is not an object");
    }
    var strings = new LinkedHashMap<String, String>();
    for (Map.Entry<String, JsonNode> entry : value.properties()) {
      strings.put(entry.getKey(), requireText(value, entry.getKey(), what + " " + field));
    }
    return Map.copyOf(strings);
  }
}
