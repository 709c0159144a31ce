package dev.platter.node.container;

import dev.platter.image.Printable;
import dev.platter.model.ContainerSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.container.VolumeContainer.Scheme;
import dev.platter.registry.Reference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Reads the attributes of a Kubernetes container. What would change how the container runs and
 * cannot be honoured is refused, never passed over. {@code $(NAME)} is not replaced.
 */
final class ContainerAttributes {
  private static final Set<String> KNOWN =
      new TreeSet<>(
          List.of("args", "command", "env", "name", "ports", "readinessProbe", "workingDir"));

  private final ContainerSource source;
  private final Map<String, Object> attributes;
  private final List<String> problems = new ArrayList<>();

  ContainerAttributes(ContainerSource source) {
    this.source = source;
    this.attributes = source.attributes();
  }

  VolumeContainer read() {
    for (var name : attributes.keySet()) {
      if (!KNOWN.contains(name)) {
        problem(name, "Platter cannot honour it on one machine; it knows " + KNOWN + " and image");
      }
    }
    var image = image();
    var command = texts("command");
    var args = texts("args");
    if (command.isEmpty() && !args.isEmpty()) {
      problem("args", "needs command beside it: containerd would drop the image's entrypoint");
    }
    var env = env();
    var directory = text("workingDir", attributes.get("workingDir"));
    if (directory != null && !directory.startsWith("/")) {
      problem("workingDir", "must start with /");
    }
    var port = port();
    var http = httpGet();
    var scheme = scheme(http.get("scheme"));
    var probe = text("readinessProbe.httpGet.path", http.get("path"));
    if (probe != null && !probe.matches("/[A-Za-z0-9/._~=?&%-]{0,200}")) {
      problem("readinessProbe.httpGet.path", "is not the path of a URL");
    }
    var probePort = number("readinessProbe.httpGet.port", http.get("port"));
    if (probePort != null && port != null && !probePort.equals(port)) {
      problem("readinessProbe.httpGet.port", "is not the port of the service, " + port);
    }
    if (!problems.isEmpty()) {
      throw PlatterException.all(
          Code.INVALID,
          "the container " + Printable.of(source.image()) + " cannot be run",
          "Correct its attributes in the disk's source.",
          problems);
    }
    return new VolumeContainer(
        image, command, args, env, directory, scheme, port == null ? probePort : port, probe);
  }

  private String image() {
    try {
      return Reference.parse(source.image()).toString();
    } catch (IllegalArgumentException e) {
      problem("image", Printable.of(String.valueOf(e.getMessage())));
      return "";
    }
  }

  private List<String> texts(String name) {
    var out = new ArrayList<String>();
    for (var item : items(name)) {
      var text = text(name, item);
      if (text != null) {
        out.add(text);
      }
    }
    return out;
  }

  /** {@code [{name, value}]}; a line break has no place in the file that ctr reads them from. */
  private Map<String, String> env() {
    var out = new LinkedHashMap<String, String>();
    for (var item : items("env")) {
      var variable = fields("env", item, Set.of("name", "value"));
      var name = text("env", variable.get("name"));
      var given = variable.get("value");
      var value = given == null ? "" : text("env", given);
      if (name == null || value == null) {
        problem("env", "each variable has a name and a value");
      } else if (!name.matches("[A-Za-z_][A-Za-z0-9_]{0,99}")) {
        problem("env", "'" + Printable.of(name) + "' is not a variable's name");
      } else if (name.equals("PORT") || name.startsWith("PLATTER_")) {
        problem("env", name + " is set by Platter; a fixed port goes into ports");
      } else if (value.indexOf('\n') >= 0 || value.indexOf('\r') >= 0) {
        problem("env", "the value of " + name + " has a line break");
      } else {
        out.put(name, value);
      }
    }
    return out;
  }

  private @Nullable Integer port() {
    var ports = items("ports");
    if (ports.size() > 1) {
      problem("ports", "has " + ports.size() + " ports; give only that of the service");
    }
    if (ports.isEmpty()) {
      return null;
    }
    var port = fields("ports", ports.getFirst(), Set.of("containerPort", "name", "protocol"));
    return number("ports.containerPort", port.get("containerPort"));
  }

  private Map<?, ?> httpGet() {
    var probe = attributes.get("readinessProbe");
    if (probe == null) {
      return Map.of();
    }
    var get = fields("readinessProbe", probe, Set.of("httpGet")).get("httpGet");
    return get == null
        ? Map.of()
        : fields("readinessProbe.httpGet", get, Set.of("path", "port", "scheme"));
  }

  private Scheme scheme(@Nullable Object value) {
    if (value == null || value.equals("HTTPS")) {
      return Scheme.HTTPS;
    }
    if (!value.equals("HTTP")) {
      problem("readinessProbe.httpGet.scheme", "must be HTTPS or HTTP");
    }
    return Scheme.HTTP;
  }

  private List<?> items(String name) {
    return switch (attributes.get(name)) {
      case null -> List.of();
      case List<?> list -> list;
      default -> {
        problem(name, "must be a list");
        yield List.of();
      }
    };
  }

  private Map<?, ?> fields(String where, @Nullable Object value, Set<String> known) {
    if (!(value instanceof Map<?, ?> map)) {
      problem(where, "must have fields, of " + new TreeSet<>(known));
      return Map.of();
    }
    for (var key : map.keySet()) {
      if (!known.contains(String.valueOf(key))) {
        problem(where + "." + key, "is not supported; it knows " + new TreeSet<>(known));
      }
    }
    return map;
  }

  private @Nullable String text(String where, @Nullable Object value) {
    if (value == null) {
      return null;
    }
    if (value instanceof Map || value instanceof List) {
      problem(where, "must be text");
      return null;
    }
    var text = value.toString();
    if (text.indexOf('\0') >= 0) {
      problem(where, "has a NUL in it");
      return null;
    }
    return text;
  }

  private @Nullable Integer number(String where, @Nullable Object value) {
    if (value instanceof Long port && port >= 1 && port <= 65535) {
      return port.intValue();
    }
    if (value != null) {
      problem(where, "must be a port, 1 to 65535");
    }
    return null;
  }

  private void problem(String where, String what) {
    problems.add(Printable.of(where) + ": " + what);
  }
}
