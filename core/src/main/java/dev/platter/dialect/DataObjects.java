package dev.platter.dialect;

import dev.platter.model.ConfigData;
import dev.platter.model.SecretData;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/** Reads {@code kind: Secret} and {@code ConfigMap}. No message repeats anything of a value. */
final class DataObjects {
  private static final String ACCOUNT = "kubernetes.io/service-account.name";

  private DataObjects() {}

  /** The Secret of a service account is also where its token is. */
  static Objects secret(Fields fields) {
    fields.ignore("apiVersion", "kind", "immutable");
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : name(metadata, "my-secret");
    var type = fields.text("type");
    var values = new HashMap<String, byte[]>();
    values(fields, "data", DataObjects::base64, values);
    values(fields, "stringData", DataObjects::bytes, values);
    fields.done();
    if (metadata == null || name == null) {
      return Objects.NONE;
    }
    var secret = Objects.of(new SecretData(Map.of(name, values)));
    var annotations = metadata.fields("annotations");
    var account = annotations == null ? null : annotations.text(ACCOUNT);
    return account == null || !"kubernetes.io/service-account-token".equals(type)
        ? secret
        : secret.with(Objects.ofToken(namespace(metadata) + "/" + account, name));
  }

  /** What ceph-csi says about clusters in one is read besides. */
  static Objects config(Fields fields) {
    fields.ignore("apiVersion", "kind", "immutable");
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : name(metadata, "my-config");
    var values = new HashMap<String, byte[]>();
    values(fields, "data", DataObjects::bytes, values);
    values(fields, "binaryData", DataObjects::base64, values);
    return name == null
        ? Objects.NONE
        : Objects.of(ConfigData.of(name, values)).with(CephClusters.read(fields));
  }

  /** {@code NAMESPACE/NAME}. */
  private static @Nullable String name(Fields metadata, String example) {
    var name = metadata.requiredText("name", example);
    if (name != null && !Names.valid(name)) {
      metadata.problem("name", Names.complaint(name));
      return null;
    }
    var namespace = namespace(metadata);
    if (!Names.valid(namespace) || namespace.contains(".")) {
      metadata.problem("namespace", Names.complaint(namespace));
      return null;
    }
    return name == null ? null : namespace + "/" + name;
  }

  private static String namespace(Fields metadata) {
    var namespace = metadata.text("namespace");
    return namespace == null ? VmObjects.DEFAULT_NAMESPACE : namespace;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * As Kubernetes reads it. (A decoder that skips what is not base64 would make another password of
   * one that was written here as it is.)
   */
  static byte[] base64(String text) {
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
      if (!name.getValue().matches("[-._a-zA-Z0-9]{1,253}") || name.getValue().startsWith("..")) {
        fields.problem(
            key, "'" + Fields.brief(name.getValue()) + "' is no key: letters, digits, -, _ and .");
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
