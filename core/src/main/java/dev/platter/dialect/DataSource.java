package dev.platter.dialect;

import dev.platter.model.PlatterException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A ConfigMap or a Secret that an annotation or a volume names. Nothing of a value is in a message.
 *
 * @param kind for people: {@code ConfigMap} or {@code Secret}
 * @param values null if there is no such object
 */
record DataSource(String kind, String name, @Nullable SortedMap<String, byte[]> values) {
  private static final String CONFIG_MAP = "ConfigMap";
  private static final String SECRET = "Secret";

  /** Where objects of one kind are found. */
  interface Finder {
    DataSource find(Objects given, String namespace, String name);
  }

  static DataSource configMap(Objects given, String namespace, String name) {
    var key = namespace + "/" + name;
    return new DataSource(CONFIG_MAP, key, given.configs().find(key).orElse(null));
  }

  static DataSource secret(Objects given, String namespace, String name) {
    var key = namespace + "/" + name;
    return new DataSource(SECRET, key, given.secrets().find(key).orElse(null));
  }

  /** Of {@code configmap/NAME} or {@code secret/NAME}. */
  static DataSource parse(Objects given, String namespace, String kind, String name) {
    if (!Names.valid(name)) {
      throw new IllegalArgumentException(Names.complaint(name));
    }
    return switch (kind.toLowerCase(Locale.ROOT)) {
      case "configmap" -> configMap(given, namespace, name);
      case "secret" -> secret(given, namespace, name);
      default ->
          throw new IllegalArgumentException(
              "'" + Fields.brief(kind) + "' is neither configmap nor secret");
    };
  }

  boolean secret() {
    return kind.equals(SECRET);
  }

  SortedMap<String, byte[]> required() {
    if (values == null) {
      throw new IllegalArgumentException(
          "there is no " + kind + " " + name + "; give it in this file or with -f FILE");
    }
    return values;
  }

  byte[] required(String key) {
    var value = required().get(key);
    if (value == null) {
      throw new IllegalArgumentException("the " + kind + " " + name + " has no key " + key);
    }
    return value;
  }

  String requiredText(String key) {
    return text(key, required(key));
  }

  private String text(String key, byte[] value) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException(
          "the value of " + key + " in the " + kind + " " + name + " is not UTF-8 text", e);
    }
  }

  /** The same with the value of a key decoded. */
  DataSource decoded(String key) {
    var text = requiredText(key);
    try {
      var decoded = new TreeMap<>(required());
      decoded.put(key, DataObjects.base64(text));
      return new DataSource(kind, name, decoded);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "the value of " + key + " in the " + kind + " " + name + " is not base64", e);
    }
  }

  /** The value of a key as YAML. */
  Object requiredYaml(String key) {
    try {
      return PlainValues.parse(requiredText(key), true);
    } catch (PlatterException e) {
      // What the parser says may show some of the text.
      throw new IllegalArgumentException(
          "the value of " + key + " in the " + kind + " " + name + " is not YAML", e);
    }
  }

  /** Each key with its value as YAML. */
  Map<String, Object> requiredYaml() {
    var out = new java.util.LinkedHashMap<String, Object>();
    required().keySet().forEach(key -> out.put(key, requiredYaml(key)));
    return out;
  }
}
