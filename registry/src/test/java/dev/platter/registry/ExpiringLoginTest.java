package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.registry.FakeRegistry.Answer;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One client that outlives logins, as the daemon's do while a guest reads. */
class ExpiringLoginTest extends AgainstFakeRegistry {
  @TempDir Path home;
  private final AtomicLong time = new AtomicLong();
  private RegistryClient client;

  @BeforeEach
  void makeClient() throws IOException {
    Files.createDirectories(home.resolve(".docker"));
    Map<String, String> environment = Map.of("HOME", home.toString(), "PATH", home.toString());
    client =
        FakeRegistry.impatient(
                RegistrySettings.defaults(),
                Credentials.fromEnvironment(environment),
                () -> time.get())
            .client(registry.image());
  }

  private void config(String json) throws IOException {
    Files.writeString(home.resolve(".docker/config.json"), json);
  }

  private static String basic(String password) {
    byte[] pair = ("joe:" + password).getBytes(StandardCharsets.UTF_8);
    return Base64.getEncoder().encodeToString(pair);
  }

  private void logIn(String password) throws IOException {
    config("{\"auths\":{\"%s\":{\"auth\":\"%s\"}}}".formatted(registry.host(), basic(password)));
  }

  private void wait(Duration duration) {
    time.addAndGet(duration.toNanos());
  }

  private void wanted(String password) {
    registry.on(
        BLOB_PATH, registry.guarded("Basic " + basic(password), "Basic realm=\"x\"", bytes(BLOB)));
  }

  @Test
  void aPasswordThatIsNoLongerTakenIsLookedForAgain() throws IOException {
    wanted("hunter2");
    logIn("hunter2");
    assertThat(read(client)).isEqualTo(BLOB);
    wanted("hunter3");
    logIn("hunter3");
    wait(Duration.ofHours(12));
    assertThat(read(client)).isEqualTo(BLOB);
  }

  /** Amazon's registry says so of a password that is twelve hours old. */
  @Test
  void aRegistryMayForbidRatherThanAskForAnotherPassword() throws IOException {
    wanted("hunter2");
    logIn("hunter2");
    assertThat(read(client)).isEqualTo(BLOB);
    Answer guarded =
        registry.guarded("Basic " + basic("hunter3"), "Basic realm=\"x\"", bytes(BLOB));
    registry.on(
        BLOB_PATH,
        exchange -> {
          String shown = exchange.getRequestHeaders().getFirst("Authorization");
          boolean old = ("Basic " + basic("hunter2")).equals(shown);
          (old ? status(403) : guarded).to(exchange);
        });
    wait(Duration.ofHours(12));
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(client));
    logIn("hunter3");
    wait(Duration.ofMinutes(1));
    assertThat(read(client)).isEqualTo(BLOB);
  }

  private void sellTokensTo(String password) {
    String challenge = "Bearer realm=\"http://" + other.host() + "/token\"";
    registry.on(BLOB_PATH, registry.guarded("Bearer SECRET-" + password, challenge, bytes(BLOB)));
    other.on(
        "/token",
        other.guarded(
            "Basic " + basic(password),
            "Basic realm=\"x\"",
            text("{\"token\":\"SECRET-" + password + "\"}")));
  }

  @Test
  void aTokenServerMayWantAnotherPasswordAfterAWhile() throws IOException {
    sellTokensTo("hunter2");
    logIn("hunter2");
    assertThat(read(client)).isEqualTo(BLOB);
    sellTokensTo("hunter3");
    logIn("hunter3");
    wait(Duration.ofHours(1));
    assertThat(read(client)).isEqualTo(BLOB);
  }

  @Test
  void whoWasNobodyMayLogInLater() throws IOException {
    String challenge = "Bearer realm=\"http://" + other.host() + "/token\"";
    registry.on(BLOB_PATH, registry.guarded("Bearer SECRET-joe", challenge, bytes(BLOB)));
    other.on(
        "/token",
        exchange -> {
          boolean known = exchange.getRequestHeaders().containsKey("Authorization");
          text("{\"token\":\"SECRET-" + (known ? "joe" : "anybody") + "\"}").to(exchange);
        });
    assertFails(Kind.UNAUTHORIZED, "there are no credentials", () -> read(client));
    logIn("hunter2");
    wait(Duration.ofMinutes(1));
    assertThat(read(client)).isEqualTo(BLOB);
  }

  @Test
  void aHelperIsAskedAgainButNotAllTheTime() throws IOException {
    Path helper = home.resolve("docker-credential-mine");
    Files.writeString(
        helper,
        """
        #!/bin/sh
        read server; echo asked >>%1$s/asked
        echo "{\\"Username\\":\\"joe\\",\\"Secret\\":\\"$(/bin/cat %1$s/secret)\\"}"
        """
            .formatted(home));
    Files.setPosixFilePermissions(helper, PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.writeString(home.resolve("secret"), "hunter2");
    config("{\"credHelpers\":{\"" + registry.host() + "\":\"mine\"}}");
    wanted("hunter3");
    for (int i = 0; i < 3; i++) {
      assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(client));
    }
    assertThat(home.resolve("asked")).hasContent("asked");
    wait(Duration.ofMinutes(1));
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(client));
    assertThat(Files.readAllLines(home.resolve("asked"))).hasSize(2);
    Files.writeString(home.resolve("secret"), "hunter3");
    wait(Duration.ofMinutes(1));
    assertThat(read(client)).isEqualTo(BLOB);
    assertThat(Files.readAllLines(home.resolve("asked"))).hasSize(3);
  }

  @ParameterizedTest
  @ValueSource(ints = {401, 403})
  void aLoginThatIsStillTheSameIsNotShownAgain(int status) throws IOException {
    registry.on(BLOB_PATH, registry.guarded("-", "Basic realm=\"x\"", bytes(BLOB)));
    logIn("hunter2");
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(client));
    registry.on(BLOB_PATH, status(status));
    registry.requests.clear();
    wait(Duration.ofMinutes(1));
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(client));
    assertThat(registry.requests).hasSize(1);
  }
}
