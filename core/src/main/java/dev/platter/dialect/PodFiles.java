package dev.platter.dialect;

import dev.platter.model.GuestFile;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads the volumes of a pod that are files: ConfigMaps, Secrets, the downward API, tokens, and all
 * of these in one. As with a kubelet, a later file of the same name takes the place of an earlier
 * one.
 */
final class PodFiles {
  private static final int DEFAULT_MODE = 0644;

  private final Objects given;
  private final String namespace;
  private final String account;
  private final PodFacts facts;

  PodFiles(Objects given, String namespace, String account, PodFacts facts) {
    this.given = given;
    this.namespace = namespace;
    this.account = account;
    this.facts = facts;
  }

  /** One file of a volume. */
  record Entry(int mode, GuestFile.Content content) {
    Entry(int mode, byte[] bytes) {
      this(mode, new GuestFile.Content(bytes));
    }
  }

  /** Where these volumes are in a pod's {@code volumes}. */
  static boolean isFiles(String type) {
    return switch (type) {
      case "configMap", "secret", "projected", "downwardAPI" -> true;
      default -> false;
    };
  }

  /** The files by their paths in the volume. */
  SortedMap<String, Entry> read(String type, Fields volume) {
    var out = new TreeMap<String, Entry>();
    var mode = mode(volume, "defaultMode", DEFAULT_MODE);
    if (type.equals("projected")) {
      projected(volume, mode, out);
    } else {
      source(type, volume, mode, out);
    }
    volume.done();
    return out;
  }

  /** What a kubelet has put into the volume. */
  static SortedMap<String, Entry> mounted(SortedMap<String, GuestFile> files) {
    var out = new TreeMap<String, Entry>();
    files.forEach((path, file) -> out.put(path, new Entry(file.mode(), file.content())));
    return out;
  }

  private void projected(Fields volume, int mode, Map<String, Entry> out) {
    for (var source : volume.mappings("sources")) {
      for (var type : source.names()) {
        var fields = source.requiredFields(type);
        if (fields != null) {
          source(type, fields, mode, out);
          fields.done();
        }
      }
    }
  }

  private void source(String type, Fields source, int mode, Map<String, Entry> out) {
    switch (type) {
      case "configMap" -> object(source, "name", mode, out, DataSource::configMap);
      case "secret" ->
          object(
              source,
              source.has("secretName") ? "secretName" : "name",
              mode,
              out,
              DataSource::secret);
      case "downwardAPI" -> downward(source, mode, out);
      case "serviceAccountToken" -> token(source, mode, out);
      default -> source.problem("'" + Fields.brief(type) + "' cannot be given to a guest as files");
    }
  }

  private void object(
      Fields source, String key, int mode, Map<String, Entry> out, DataSource.Finder finder) {
    var name = source.requiredText(key, "my-config");
    var optional = source.flag("optional");
    var items = items(source, mode);
    if (name == null) {
      return;
    }
    var object = finder.find(given, namespace, name);
    if (object.values() == null && optional) {
      return;
    }
    source.parsed(
        key,
        _ -> {
          object.required();
          if (items == null) {
            object.required().forEach((file, value) -> out.put(file, new Entry(mode, value)));
            return true;
          }
          items.forEach(
              (path, item) -> {
                if (!optional || object.required().containsKey(item.key())) {
                  out.put(path, new Entry(item.mode(), object.required(item.key())));
                }
              });
          return true;
        });
  }

  private record Item(String key, int mode) {}

  /** Chosen keys by their paths; null if all are. */
  private static @Nullable Map<String, Item> items(Fields source, int mode) {
    if (!source.has("items")) {
      return null;
    }
    var out = new LinkedHashMap<String, Item>();
    for (var item : source.mappings("items")) {
      var key = item.requiredText("key", "my-key");
      var path = path(item);
      if (key != null && path != null) {
        out.put(path, new Item(key, mode(item, "mode", mode)));
      }
      item.ignore("mode");
      item.done();
    }
    return out;
  }

  private static @Nullable String path(Fields item) {
    item.requiredText("path", "my-file");
    return item.parsed(
        "path",
        text -> {
          GuestPaths.checkRelative(text);
          if (text.startsWith("..")) {
            throw new IllegalArgumentException("a file's path cannot start with '..'");
          }
          return text;
        });
  }

  private void downward(Fields source, int mode, Map<String, Entry> out) {
    for (var item : source.mappings("items")) {
      var path = path(item);
      var itemMode = mode(item, "mode", mode);
      var value = fact(item);
      item.done();
      if (path != null && value != null) {
        out.put(path, new Entry(itemMode, value.getBytes(StandardCharsets.UTF_8)));
      }
    }
  }

  /** What a {@code fieldRef} or {@code resourceFieldRef} means. */
  @Nullable String fact(Fields item) {
    var field = item.fields("fieldRef");
    if (field != null) {
      field.ignore("apiVersion");
      field.requiredText("fieldPath", "metadata.name");
      var value = field.parsed("fieldPath", facts::field);
      field.done();
      return value;
    }
    var resource = item.fields("resourceFieldRef");
    if (resource == null) {
      item.problem("needs a fieldRef or a resourceFieldRef");
      return null;
    }
    resource.ignore("containerName");
    var divisor = resource.text("divisor");
    var value = resource.parsed("resource", name -> facts.resource(name, divisor));
    resource.done();
    return value;
  }

  /** Only a cluster makes tokens, so here it comes from a Secret that one made. */
  private void token(Fields source, int mode, Map<String, Entry> out) {
    source.ignore("audience", "expirationSeconds");
    source.requiredText("path", "token");
    source.parsed(
        "path",
        path -> {
          GuestPaths.checkRelative(path);
          out.put(path, new Entry(mode, secretOfAccount().required("token")));
          return true;
        });
  }

  private DataSource secretOfAccount() {
    var secret = given.tokens().get(namespace + "/" + account);
    if (secret == null) {
      throw new IllegalArgumentException(
          "there is no token of the service account "
              + namespace
              + "/"
              + account
              + " here; give a Secret of type kubernetes.io/service-account-token for it in this"
              + " file or with -f FILE");
    }
    return new DataSource("Secret", secret, given.secrets().find(secret).orElse(null));
  }

  /** The files of the service account, if its Secret is given. */
  SortedMap<String, Entry> account() {
    var out = new TreeMap<String, Entry>();
    if (given.tokens().containsKey(namespace + "/" + account)) {
      secretOfAccount()
          .required()
          .forEach((file, value) -> out.put(file, new Entry(DEFAULT_MODE, value)));
    }
    return out;
  }

  /**
   * YAML of Kubernetes' dialect writes 0644 where JSON has 420; what starts with a zero is octal.
   */
  private static int mode(Fields fields, String key, int fallback) {
    var mode =
        fields.<Integer>parsed(
            key,
            text -> {
              var octal = text.matches("0o?[0-7]{1,4}");
              if (!octal && !text.matches("[1-9]\\d{0,3}|0")) {
                throw new IllegalArgumentException(wrongMode(text));
              }
              var value =
                  octal ? Integer.parseInt(text.replace("o", ""), 8) : Integer.parseInt(text);
              if (value > 0777) {
                throw new IllegalArgumentException(wrongMode(text));
              }
              return value;
            });
    return mode == null ? fallback : mode;
  }

  private static String wrongMode(String text) {
    return "'" + Fields.brief(text) + "' is not a mode; write, for example, 0644 (420 in JSON)";
  }
}
