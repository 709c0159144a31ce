package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
        .isEqualTo(new Credentials.Login("wide", "pass:word"));
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
