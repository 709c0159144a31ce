package dev.platter.dialect;

import dev.platter.model.SecretData;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/** Reads {@code kind: Secret}. No message repeats anything of a value. */
final class SecretObjects {
  private SecretObjects() {}

  static SecretData read(Fields fields) {
    fields.ignore("apiVersion", "kind", "type", "immutable");
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : metadata.requiredText("name", "my-secret");
    var namespace = metadata == null ? null : metadata.text("namespace");
    if (metadata != null && name != null && !Names.valid(name)) {
      metadata.problem("name", Names.complaint(name));
    }
    var values = new HashMap<String, byte[]>();
    values(fields, "data", SecretObjects::base64, values);
    values(fields, "stringData", text -> text.getBytes(StandardCharsets.UTF_8), values);
    fields.done();
    return new SecretData(
        Map.of((namespace == null ? VmObjects.DEFAULT_NAMESPACE : namespace) + "/" + name, values));
  }

  /**
   * As Kubernetes reads it. (A decoder that skips what is not base64 would make another password of
   * one that was written here as it is.)
   */
  private static byte[] base64(String text) {
    return Base64.getDecoder().decode(text.replaceAll("\\s", ""));
  }

  private static void values(
      Fields fields, String key, Function<String, byte[]> decode, Map<String, byte[]> out) {
    var node = fields.node(key);
    if (node == null) {
      return;
    }
    if (!(node instanceof MappingNode mapping)) {
      fields.problem(key, "expected a mapping of keys to values");
      return;
    }
    for (var entry : mapping.getValue()) {
      if (!(entry.getKeyNode() instanceof ScalarNode name)
          || !(entry.getValueNode() instanceof ScalarNode value)) {
        fields.problem(key, "expected text for each key");
        continue;
      }
      try {
        out.put(name.getValue(), decode.apply(value.getValue()));
      } catch (IllegalArgumentException e) {
        fields.problem(key, "the value of " + name.getValue() + " is not base64");
      }
    }
  }
}
