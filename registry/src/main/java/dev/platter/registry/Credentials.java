package dev.platter.registry;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * User names and passwords by registry, in the format of Docker's {@code config.json}, which
 * containers' {@code auth.json} and Kubernetes' image pull secrets share.
 *
 * <p>Only what is in the file: no credential helpers, which would be programs named by the file,
 * and no identity tokens.
 */
public final class Credentials {
  private static final int MAX_BYTES = 1 << 20;
  private static final JsonMapper MAPPER = new JsonMapper();

  private final Map<String, Login> logins;

  /** One account. Never printed. */
  record Login(String user, String password) {
    String basic() {
      String pair = user + ":" + password;
      return "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String toString() {
      return "Login[hidden]";
    }
  }

  private Credentials(Map<String, Login> logins) {
    this.logins = Map.copyOf(logins);
  }

  public static Credentials none() {
    return new Credentials(Map.of());
  }

  /** The content of such a file, as a Secret of type {@code dockerconfigjson} has it. */
  public static Credentials parse(byte[] json) throws IOException {
    return parse(json, "the registry credentials");
  }

  /**
   * What {@code docker login} and {@code podman login} have stored for this user; the first file
   * that knows a registry counts.
   */
  public static Credentials fromEnvironment(Map<String, String> environment) throws IOException {
    List<Path> files = new ArrayList<>();
    add(files, environment.get("REGISTRY_AUTH_FILE"), "");
    add(files, environment.get("XDG_RUNTIME_DIR"), "containers/auth.json");
    add(files, environment.get("DOCKER_CONFIG"), "config.json");
    add(files, environment.get("HOME"), ".docker/config.json");
    var logins = new LinkedHashMap<String, Login>();
    for (Path file : files) {
      if (Files.isRegularFile(file)) {
        read(file).logins.forEach(logins::putIfAbsent);
      }
    }
    return new Credentials(logins);
  }

  private static void add(List<Path> files, @Nullable String base, String relative) {
    if (base != null && !base.isEmpty()) {
      files.add(relative.isEmpty() ? Path.of(base) : Path.of(base, relative));
    }
  }

  private static Credentials read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return parse(in.readNBytes(MAX_BYTES), file.toString());
    }
  }

  private static Credentials parse(byte[] json, String what) throws IOException {
    JsonNode auths;
    try {
      auths = MAPPER.readTree(json).path("auths");
    } catch (JsonProcessingException e) {
      // Without the cause: it quotes the text around the error.
      throw new IOException(what + " is not valid JSON at line " + e.getLocation().getLineNr());
    }
    var logins = new LinkedHashMap<String, Login>();
    for (Map.Entry<String, JsonNode> entry : auths.properties()) {
      @Nullable Login login = login(entry.getValue(), what + ", entry '" + entry.getKey() + "'");
      if (login != null) {
        logins.put(key(entry.getKey()), login);
      }
    }
    return new Credentials(logins);
  }

  private static @Nullable Login login(JsonNode entry, String what) throws IOException {
    if (entry.path("username").isTextual() && entry.path("password").isTextual()) {
      return new Login(entry.path("username").textValue(), entry.path("password").textValue());
    }
    String auth = entry.path("auth").asText();
    if (auth.isEmpty()) {
      return null;
    }
    try {
      String pair = new String(Base64.getDecoder().decode(auth.strip()), StandardCharsets.UTF_8);
      int colon = pair.indexOf(':');
      if (colon > 0) {
        return new Login(pair.substring(0, colon), pair.substring(colon + 1));
      }
    } catch (IllegalArgumentException e) {
      // Not quoted: what is broken here may still be most of a password.
    }
    throw new IOException(what + ": 'auth' is not the base64 of user:password");
  }

  /** Docker writes URLs for some registries, and the old address of its Hub. */
  private static String key(String name) {
    String host = name.replaceFirst("^https?://", "").replaceFirst("/v[12]/?$|/$", "");
    return host.equals("index.docker.io") || host.equals("registry-1.docker.io")
        ? "docker.io"
        : host;
  }

  /** The most specific entry: for the repository, for a part of its path, or for the host. */
  Optional<Login> find(Reference image) {
    String scope = image.host() + "/" + image.repository();
    while (true) {
      Login login = logins.get(scope);
      if (login != null) {
        return Optional.of(login);
      }
      int slash = scope.lastIndexOf('/');
      if (slash < 0) {
        return Optional.empty();
      }
      scope = scope.substring(0, slash);
    }
  }

  @Override
  public String toString() {
    return "Credentials for " + logins.keySet();
  }
}
