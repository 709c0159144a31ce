package dev.platter.registry;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.registry.Credentials.Login;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Logins in the format of Docker's {@code config.json}, which containers' {@code auth.json} and
 * Kubernetes' image pull secrets share.
 *
 * <p>It may name credential helpers ({@code credHelpers}, {@code credsStore}), which are run when a
 * registry asks for credentials. A helper that is not installed counts as one that knows nothing,
 * as with Docker, so that public images can still be had.
 */
final class LoginDocument implements Credentials.Source {
  private static final int MAX_BYTES = 1 << 20;
  private static final JsonMapper MAPPER = new JsonMapper();

  private static final Duration HELPER_PATIENCE = Duration.ofSeconds(30);

  private final Map<String, Login> logins;
  private final Helpers helpers;

  /**
   * Programs that know more.
   *
   * @param byHost the helper of each host that has its own
   * @param store the helper of all others; may be empty
   * @param path where programs are; null for none
   */
  private record Helpers(Map<String, String> byHost, String store, @Nullable String path) {
    static final Helpers NONE = new Helpers(Map.of(), "", null);

    Optional<Login> ask(String name, String host) throws IOException {
      // Hub's credentials are stored under the address it had when Docker was young.
      String server = host.equals("docker.io") ? "https://index.docker.io/v1/" : host;
      Optional<CredentialHelper> helper = CredentialHelper.find(name, path, HELPER_PATIENCE);
      return helper.isPresent() ? helper.get().get(server) : Optional.empty();
    }
  }

  private LoginDocument(Map<String, Login> logins, Helpers helpers) {
    this.logins = Map.copyOf(logins);
    this.helpers = helpers;
  }

  /**
   * @param programs where helpers are, a list of directories; null for nowhere
   */
  static LoginDocument read(Path file, @Nullable String programs) throws IOException {
    try (var in = Files.newInputStream(file)) {
      LoginDocument read = parse(in.readNBytes(MAX_BYTES), file.toString());
      return new LoginDocument(
          read.logins, new Helpers(read.helpers.byHost, read.helpers.store, programs));
    }
  }

  LoginDocument withoutHelpers() {
    return new LoginDocument(logins, Helpers.NONE);
  }

  /** {@code what} is for messages. */
  static LoginDocument parse(byte[] json, String what) throws IOException {
    JsonNode root;
    try {
      root = MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      // Without the cause: it quotes the text around the error.
      throw new IOException(what + " is not valid JSON at line " + e.getLocation().getLineNr());
    }
    var logins = new LinkedHashMap<String, Login>();
    for (Map.Entry<String, JsonNode> entry : root.path("auths").properties()) {
      @Nullable Login login = login(entry.getValue(), what + ", entry '" + entry.getKey() + "'");
      if (login != null) {
        logins.put(key(entry.getKey()), login);
      }
    }
    var byHost = new LinkedHashMap<String, String>();
    for (Map.Entry<String, JsonNode> entry : root.path("credHelpers").properties()) {
      byHost.put(key(entry.getKey()), entry.getValue().asText());
    }
    return new LoginDocument(
        logins, new Helpers(Map.copyOf(byHost), root.path("credsStore").asText(), null));
  }

  private static @Nullable Login login(JsonNode entry, String what) throws IOException {
    if (!entry.path("identitytoken").asText().isEmpty()) {
      return new Login(Login.IDENTITY, entry.path("identitytoken").textValue());
    }
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

  /**
   * The host's own helper; else the most specific entry: for the repository, for a part of its
   * path, or for the host; else what the general helper knows.
   */
  @Override
  public Optional<Login> find(Reference image) throws IOException {
    String helper = helpers.byHost.get(image.host());
    if (helper != null && !helper.isEmpty()) {
      return helpers.ask(helper, image.host());
    }
    Optional<Login> stored = stored(image);
    return stored.isEmpty() && !helpers.store.isEmpty()
        ? helpers.ask(helpers.store, image.host())
        : stored;
  }

  private Optional<Login> stored(Reference image) {
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
    return logins.keySet().toString();
  }
}
