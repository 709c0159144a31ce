package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.registry.Credentials.Login;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CredentialHelperTest {
  @TempDir Path home;
  private Path bin;

  @BeforeEach
  void makeDirectories() throws IOException {
    bin = Files.createDirectory(home.resolve("bin"));
    Files.createDirectory(home.resolve(".docker"));
  }

  private void helper(String name, String script) throws IOException {
    Path file = bin.resolve("docker-credential-" + name);
    Files.writeString(file, "#!/bin/sh\n" + script);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private Optional<Login> find(String config, String image) throws IOException {
    Files.writeString(home.resolve(".docker/config.json"), config);
    return Credentials.fromEnvironment(Map.of("HOME", home.toString(), "PATH", "/nowhere:" + bin))
        .find(Reference.parse(image));
  }

  /** Answers with what it was asked. */
  private static final String ECHO =
      "read server; echo \"{\\\"Username\\\":\\\"$1\\\",\\\"Secret\\\":\\\"$server\\\"}\"";

  @Test
  void aHelperIsAskedForItsHost() throws IOException {
    helper("mine", ECHO);
    String config = "{\"credHelpers\":{\"r.io\":\"mine\"}}";
    assertThat(find(config, "r.io/vm")).contains(new Login("get", "r.io"));
    assertThat(find(config, "other.io/vm")).isEmpty();
  }

  @Test
  void theGeneralHelperIsAskedForAllThatHaveNoEntry() throws IOException {
    helper("all", ECHO);
    String config =
        "{\"credsStore\":\"all\",\"auths\":{\"r.io\":{},\"own.io\":{\"username\":\"u\",\"password\":\"p\"}}}";
    assertThat(find(config, "r.io/vm")).contains(new Login("get", "r.io"));
    assertThat(find(config, "debian")).contains(new Login("get", "https://index.docker.io/v1/"));
    assertThat(find(config, "own.io/vm")).contains(new Login("u", "p"));
  }

  @Test
  void aHelperThatKnowsNothingIsNoError() throws IOException {
    helper("none", "cat >/dev/null; echo 'credentials not found in native keychain'; exit 1");
    assertThat(find("{\"credsStore\":\"none\"}", "r.io/vm")).isEmpty();
    assertThat(find("{\"credsStore\":\"not-installed\"}", "r.io/vm")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "echo hunter2; exit 1",
        "echo hunter2",
        "echo '{\"Username\":\"hunter2\"}'",
        "echo hunter2 >&2; exit 3",
        "yes hunter2",
      })
  void aHelperThatFailsIsNamedAndNotQuoted(String script) throws IOException {
    helper("bad", script);
    assertThatThrownBy(() -> find("{\"credsStore\":\"bad\"}", "r.io/vm"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("docker-credential-bad, asked for the credentials of r.io, ")
        .hasNoCause()
        .message()
        .doesNotContain("hunter2");
  }

  @Test
  void aHelperThatHangsIsGivenUp() throws IOException {
    helper("slow", "exec sleep 60");
    CredentialHelper slow =
        CredentialHelper.find("slow", bin.toString(), Duration.ofMillis(300)).orElseThrow();
    assertThatThrownBy(() -> slow.get("r.io")).hasMessageContaining("gave no answer");
  }

  @ParameterizedTest
  @ValueSource(strings = {"../evil", "a b", "a/b", "$(x)", "a.b"})
  void anotherProgramCannotBeNamed(String name) {
    assertThatThrownBy(() -> find("{\"credsStore\":\"" + name + "\"}", "r.io/vm"))
        .hasMessageContaining("the credential helper's name");
  }

  @Test
  void whatCameFromElsewhereRunsNothing() throws IOException {
    String config = "{\"credsStore\":\"all\",\"credHelpers\":{\"r.io\":\"all\"}}";
    helper("all", "touch " + home.resolve("ran") + "; " + ECHO);
    Credentials secret = Credentials.parse(config.getBytes(StandardCharsets.UTF_8));
    assertThat(secret.find(Reference.parse("r.io/vm"))).isEmpty();
    assertThat(home.resolve("ran")).doesNotExist();
  }

  @Test
  void identityTokensAreKnown() throws IOException {
    helper("tok", "echo '{\"Username\":\"<token>\",\"Secret\":\"T\"}'");
    assertThat(find("{\"credsStore\":\"tok\"}", "r.io/vm").orElseThrow().isIdentityToken())
        .isTrue();
    assertThat(
            find("{\"auths\":{\"r.io\":{\"auth\":\"eDp5\",\"identitytoken\":\"T\"}}}", "r.io/vm"))
        .contains(new Login("<token>", "T"));
  }
}
