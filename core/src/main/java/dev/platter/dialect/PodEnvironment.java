package dev.platter.dialect;

import dev.platter.model.GuestFile;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The variables of a container. A guest finds them in a file: {@code NAME=value} lines, for root
 * alone if one comes from a Secret; the program of a container image has them as they are. Left
 * out: {@code envFrom}, and references from one value to another.
 */
final class PodEnvironment {
  private static final String PATH = "/etc/cloud/environment";
  private static final int MODE = 0644;
  private static final int SECRET_MODE = 0600;

  private final Fields container;
  private final Objects given;
  private final String namespace;
  private final PodFiles files;
  private boolean secret;

  PodEnvironment(Fields container, Objects given, String namespace, PodFiles files) {
    this.container = container;
    this.given = given;
    this.namespace = namespace;
    this.files = files;
  }

  /** Whether one that was read comes from a Secret. */
  boolean secret() {
    return secret;
  }

  /**
   * @param lines whether a value can have more than one line
   */
  Map<String, String> values(boolean lines) {
    if (container.has("envFrom")) {
      container.problem("envFrom", "is not supported; name the variables in env");
    }
    var values = new LinkedHashMap<String, String>();
    for (var variable : container.mappings("env")) {
      read(variable, values, lines);
    }
    return values;
  }

  Optional<GuestFile> file() {
    var values = values(false);
    if (values.isEmpty()) {
      return Optional.empty();
    }
    var text =
        values.entrySet().stream()
            .map(entry -> entry.getKey() + "=" + entry.getValue() + "\n")
            .collect(Collectors.joining());
    var content = new GuestFile.Content(text.getBytes(StandardCharsets.UTF_8));
    return Optional.of(new GuestFile(PATH, secret ? SECRET_MODE : MODE, content));
  }

  private void read(Fields variable, Map<String, String> out, boolean lines) {
    var name = variable.requiredText("name", "MY_NAME");
    var value = variable.has("valueFrom") ? from(variable) : variable.text("value");
    variable.ignore("value");
    variable.done();
    if (name == null) {
      return;
    }
    var text = value == null ? "" : value;
    if (!name.matches("[A-Za-z_.-][A-Za-z0-9_.-]{0,252}")) {
      variable.problem("name", "'" + Fields.brief(name) + "' is not the name of a variable");
    } else if (text.chars().anyMatch(c -> c < 0x20 && c != '\t' && !(lines && c == '\n'))) {
      variable.problem(
          name.equals("name") ? "value" : "name",
          "the value of " + Fields.brief(name) + " has more than one line; give it as a file");
    } else {
      out.put(name, text);
    }
  }

  private @Nullable String from(Fields variable) {
    var from = variable.requiredFields("valueFrom");
    if (from == null) {
      return null;
    }
    if (from.has("configMapKeyRef")) {
      return key(from, "configMapKeyRef", DataSource::configMap);
    }
    if (from.has("secretKeyRef")) {
      secret = true;
      return key(from, "secretKeyRef", DataSource::secret);
    }
    return files.fact(from);
  }

  private @Nullable String key(Fields from, String kind, DataSource.Finder finder) {
    var fields = from.requiredFields(kind);
    if (fields == null) {
      return null;
    }
    var name = fields.requiredText("name", "my-config");
    var optional = fields.flag("optional");
    fields.requiredText("key", "my-key");
    return name == null
        ? null
        : fields.<String>parsed(
            "key",
            key -> {
              var source = finder.find(given, namespace, name);
              var values = source.values();
              return optional && (values == null || !values.containsKey(key))
                  ? ""
                  : source.requiredText(key);
            });
  }
}
