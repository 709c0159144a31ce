package dev.platter.registry;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.registry.Credentials.Login;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CredentialsTest {
  @TempDir Path home;

  private static String auth(String user) {
    String pair = user + ":pass:word";
    return "{\"auth\":\""
        + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8))
        + "\"}";
  }

  private static Credentials parse(String json) throws IOException {
    return Credentials.parse(json.getBytes(StandardCharsets.UTF_8));
  }

  @ParameterizedTest
  @CsvSource({
    "quay.io, quay.io/a/b, true",
    "https://quay.io, quay.io/a/b, true",
    "https://quay.io/v2/, quay.io/a/b, true",
    "https://index.docker.io/v1/, debian, true",
    "docker.io, user/vm, true",
    "quay.io/a, quay.io/a/b, true",
    "quay.io/a/b, quay.io/a/b, true",
    "quay.io/other, quay.io/a/b, false",
    "quay.io, quay.io:8443/a, false",
    "quay.io, quay.io.example.com/a, false",
    "localhost:5000, localhost:5000/a, true",
  })
  void anEntryCountsForItsRegistryOnly(String key, String image, boolean found) throws IOException {
    Credentials credentials = parse("{\"auths\":{\"" + key + "\":" + auth("joe") + "}}");
    assertThat(credentials.find(Reference.parse(image)).isPresent()).isEqualTo(found);
  }

  @Test
  void theMostSpecificEntryWins() throws IOException {
    Credentials credentials =
        parse("{\"auths\":{\"r.io\":" + auth("wide") + ",\"r.io/a/b\":" + auth("narrow") + "}}");
    assertThat(credentials.find(Reference.parse("r.io/a/b")).orElseThrow().user())
        .isEqualTo("narrow");
    assertThat(credentials.find(Reference.parse("r.io/a/c")).orElseThrow())
        .isEqualTo(new Login("wide", "pass:word"));
  }

  @Test
  void pullSecretsMayHaveUserAndPasswordInFields() throws IOException {
    Credentials credentials =
        parse("{\"auths\":{\"r.io\":{\"username\":\"u\",\"password\":\"p\"}}}");
    assertThat(credentials.find(Reference.parse("r.io/a")).orElseThrow().basic())
        .isEqualTo("Basic dTpw");
  }

  @Test
  void loginsOfPodmanAndDockerAreFound() throws IOException {
    Files.createDirectories(home.resolve(".docker"));
    Files.createDirectories(home.resolve("run/containers"));
    Files.writeString(
        home.resolve(".docker/config.json"),
        "{\"auths\":{\"a.io\":" + auth("docker") + ",\"b.io\":" + auth("docker") + "}}");
    Files.writeString(
        home.resolve("run/containers/auth.json"), "{\"auths\":{\"b.io\":" + auth("podman") + "}}");
    Credentials credentials =
        Credentials.fromEnvironment(
            Map.of("HOME", home.toString(), "XDG_RUNTIME_DIR", home.resolve("run").toString()));
    assertThat(credentials.find(Reference.parse("a.io/x")).orElseThrow().user())
        .isEqualTo("docker");
    assertThat(credentials.find(Reference.parse("b.io/x")).orElseThrow().user())
        .isEqualTo("podman");
  }

  @Test
  void podmanKeepsLoginsOfThoseWithoutASessionInRun() throws IOException {
    String user = DockerRegistry.sh(home, "id -u").strip();
    assertThat(LoginFiles.of(Map.of("HOME", "/home/joe")).files())
        .extracting(Path::toString)
        .containsExactly(
            "/run/containers/" + user + "/auth.json",
            "/home/joe/.config/containers/auth.json",
            "/home/joe/.docker/config.json");
  }

  /** Each file names another user; the one that counts forgets its user then. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "XDG_RUNTIME_DIR",
        "XDG_RUNTIME_DIR XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR DOCKER_CONFIG",
        "XDG_RUNTIME_DIR XDG_CONFIG_HOME DOCKER_CONFIG",
        "REGISTRY_AUTH_FILE",
        "REGISTRY_AUTH_FILE XDG_RUNTIME_DIR XDG_CONFIG_HOME DOCKER_CONFIG",
      })
  void filesCountInTheOrderThatSkopeoHas(String variables) throws IOException {
    Map<String, String> environment = new HashMap<>(Map.of("HOME", home + "/home"));
    for (String variable : variables.split(" ")) {
      environment.put(variable, home + "/" + variable);
    }
    Map<String, String> files = new HashMap<>();
    for (String file :
        List.of(
            "REGISTRY_AUTH_FILE",
            "XDG_RUNTIME_DIR/containers/auth.json",
            "XDG_CONFIG_HOME/containers/auth.json",
            "DOCKER_CONFIG/config.json",
            "home/.config/containers/auth.json",
            "home/.docker/config.json")) {
      String user = file.replaceAll("[^a-zA-Z]", "");
      Path path = home.resolve(file);
      Files.createDirectories(path.getParent());
      Files.writeString(path, "{\"auths\":{\"r.io\":" + auth(user) + "}}");
      files.put(user, file);
    }
    String env = environment.entrySet().stream().map(Object::toString).collect(joining(" "));
    Credentials credentials = Credentials.fromEnvironment(environment);
    while (true) {
      String user =
          DockerRegistry.sh(
                  home, "env -i PATH=$PATH " + env + " skopeo login --get-login r.io 2>&1 || true")
              .strip();
      String ours = credentials.find(Reference.parse("r.io/vm")).map(Login::user).orElse("nobody");
      if (!files.containsKey(user)) {
        assertThat(user).contains("not logged in");
        assertThat(ours).isEqualTo("nobody");
        break;
      }
      assertThat(ours).isEqualTo(user);
      Files.writeString(home.resolve(files.get(user)), "{}");
    }
  }

  @Test
  void aLoginThatIsStoredLaterIsFound() throws IOException {
    Credentials credentials = Credentials.fromEnvironment(Map.of("HOME", home.toString()));
    assertThat(credentials.find(Reference.parse("a.io/x"))).isEmpty();
    Files.createDirectories(home.resolve(".docker"));
    for (String user : List.of("joe", "jim")) {
      Files.writeString(
          home.resolve(".docker/config.json"), "{\"auths\":{\"a.io\":" + auth(user) + "}}");
      assertThat(credentials.find(Reference.parse("a.io/x")).orElseThrow().user()).isEqualTo(user);
    }
  }

  @Test
  void entriesOfCredentialHelpersAreNotAnError() throws IOException {
    assertThat(
            parse("{\"auths\":{\"r.io\":{}},\"credsStore\":\"x\"}").find(Reference.parse("r.io/a")))
        .isEmpty();
  }

  @Test
  void nothingSecretIsPrinted() throws IOException {
    Credentials credentials =
        parse("{\"auths\":{\"r.io\":{\"username\":\"u\",\"password\":\"hunter2\"}}}");
    assertThat(credentials.toString()).contains("r.io").doesNotContain("hunter2");
    assertThat(credentials.find(Reference.parse("r.io/a")).toString()).doesNotContain("hunter2");
    for (String broken :
        List.of(
            "{\"auths\":{\"r.io\":{\"auth\":\"hunter2!\"}}}", "{\"auths\":{\"r.io\": hunter2}}")) {
      assertThatThrownBy(() -> parse(broken))
          .isInstanceOf(IOException.class)
          .hasNoCause()
          .message()
          .doesNotContain("hunter2");
    }
  }
}
