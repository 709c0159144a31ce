package dev.platter.cluster.fill;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.registry.Reference;
import dev.platter.registry.RegistrySettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The home directory of a pod that fills a claim, with what the pod was given: the operator's
 * registries, the certificates to trust, and a login. It is in the pod's memory and disk alone.
 */
final class FillHome {
  private static final int MOST_BYTES = 1 << 20;
  private static final String DOCKER = "docker://";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<TreeMap<String, String>> AUTHORITIES =
      new TypeReference<>() {};

  /** A key of a ConfigMap; the directory is not left. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][-._A-Za-z0-9]*\\.crt");

  private static final String WEB_USER = "PLATTER_WEB_USER";
  private static final String WEB_PASSWORD = "PLATTER_WEB_PASSWORD";
  private static final String WEB_AUTHORIZATION = "PLATTER_WEB_AUTHORIZATION";

  /** As nodes have it, unless the operator says something else. */
  private static final String PRIVATE_NETWORKS =
      "10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16,fc00::/7";

  private static final String STORE_KEY = "AWS_SECRET_ACCESS_KEY";

  /** The files of a Secret, and the variables that say the same. */
  private static final Map<String, String> LOGIN =
      Map.of(
          "username", WEB_USER,
          "password", WEB_PASSWORD,
          "authorization", WEB_AUTHORIZATION,
          "accessKeyId", "AWS_ACCESS_KEY_ID",
          "secretAccessKey", STORE_KEY);

  private FillHome() {}

  /** Returns the environment with the login in it. */
  static Map<String, String> prepare(FillRun.Wanted wanted, Map<String, String> environment)
      throws IOException {
    var containers =
        Path.of(environment.getOrDefault("HOME", "/tmp")).resolve(".config/containers");
    var registries = environment.getOrDefault("PLATTER_REGISTRIES", "");
    if (!registries.isEmpty()) {
      Files.createDirectories(containers);
      Files.writeString(containers.resolve("registries.conf"), registries);
    }
    var certificates = containers.resolve("certs.d");
    for (var authority : authorities(environment).entrySet()) {
      Files.createDirectories(certificates);
      Files.writeString(certificates.resolve(authority.getKey()), authority.getValue());
    }
    var authorities = wanted.ca();
    if (authorities.isPresent() && wanted.source() != null) {
      var host = certificates.resolve(host(wanted.source(), environment));
      Files.createDirectories(host);
      Files.write(host.resolve("ca.crt"), all(authorities.get()));
    }
    var out = new HashMap<>(environment);
    // Who names the source has the rights of a pod: what the node or a cloud has for it is not
    // theirs.
    out.putIfAbsent(RegistrySettings.NETWORKS, PRIVATE_NETWORKS);
    var login = wanted.login();
    if (login.isPresent()) {
      for (var file : LOGIN.entrySet()) {
        var value = read(login.get().resolve(file.getKey()));
        value.ifPresent(text -> out.put(file.getValue(), text));
      }
      cdiLogin(wanted.source(), login.get(), out);
    }
    return out;
  }

  /** The operator's, by the names of files. */
  private static Map<String, String> authorities(Map<String, String> environment)
      throws IOException {
    var all = JSON.readValue(environment.getOrDefault("PLATTER_AUTHORITIES", "{}"), AUTHORITIES);
    all.keySet().removeIf(name -> !NAME.matcher(name).matches());
    return all;
  }

  /**
   * Secrets that were written for CDI have a user and a password under these names, whatever they
   * are for.
   */
  private static void cdiLogin(@Nullable String source, Path login, Map<String, String> out)
      throws IOException {
    var user = read(login.resolve("accessKeyId"));
    var password = read(login.resolve("secretKey"));
    if (source == null || user.isEmpty() || password.isEmpty()) {
      return;
    }
    if (source.startsWith("s3://")) {
      out.putIfAbsent(STORE_KEY, password.get());
    } else if (!source.startsWith(DOCKER)) {
      if (!out.containsKey(WEB_USER) && !out.containsKey(WEB_AUTHORIZATION)) {
        out.put(WEB_USER, user.get());
        out.put(WEB_PASSWORD, password.get());
      }
    } else if (!Files.exists(login.resolve(".dockerconfigjson"))) {
      var host = Reference.parse(source.substring(DOCKER.length())).host();
      var file = JSON.createObjectNode();
      file.putObject("auths")
          .putObject(host)
          .put("username", user.get())
          .put("password", password.get());
      var docker = Path.of(out.getOrDefault("HOME", "/tmp")).resolve(".docker");
      Files.createDirectories(docker);
      Files.write(docker.resolve("config.json"), JSON.writeValueAsBytes(file));
    }
  }

  /** Who is asked: {@code HOST[:PORT]}. */
  static String host(String source, Map<String, String> environment) {
    if (source.startsWith(DOCKER)) {
      return source.substring(DOCKER.length()).split("/", 2)[0];
    }
    var address =
        source.startsWith("s3://") ? environment.getOrDefault("AWS_ENDPOINT_URL", "") : source;
    try {
      return String.valueOf(new URI(address).getRawAuthority());
    } catch (URISyntaxException e) {
      // Who asks for it complains, and shows nothing that is secret.
      return "unknown";
    }
  }

  /**
   * Of a ConfigMap all files count, whatever they are called; the kubelet's own begin with dots.
   */
  private static byte[] all(Path directory) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var files = Files.newDirectoryStream(directory, "[!.]*")) {
      for (var file : files) {
        out.writeBytes(bytes(file));
        out.write('\n');
      }
    }
    return out.toByteArray();
  }

  private static Optional<String> read(Path file) throws IOException {
    if (!Files.isRegularFile(file)) {
      return Optional.empty();
    }
    // Who writes a Secret with echo adds the end of a line.
    var text = new String(bytes(file), java.nio.charset.StandardCharsets.UTF_8).strip();
    if (text.chars().anyMatch(c -> c < 0x20 || c >= 0x7f)) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + file.getFileName() + "' of the Secret is not one line of plain characters",
          "It is not shown here. Write it anew.");
    }
    return Optional.of(text);
  }

  private static byte[] bytes(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return in.readNBytes(MOST_BYTES);
    }
  }
}
