package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Registries that want credentials, and who gets them. */
class AuthenticationTest extends AgainstFakeRegistry {
  private void tokenAuth(String tokenAnswer) {
    String challenge =
        "Bearer realm=\"http://%s/token?x=1\",service=\"my registry\",scope=\"repository:vm:push\""
            .formatted(other.host());
    registry.on(MANIFEST, registry.guarded("Bearer SECRET", challenge, text(IMAGE)));
    registry.on(BLOB_PATH, registry.guarded("Bearer SECRET", challenge, bytes(BLOB)));
    other.on("/token", text(tokenAnswer));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"token\":\"SECRET\"}", "{\"access_token\":\"SECRET\"}"})
  void aTokenIsBoughtOnceAndUsedForAll(String answer) throws IOException {
    tokenAuth(answer);
    RegistryClient client = joe();
    assertThat(client.resolve().manifest().layers()).hasSize(1);
    assertThat(read(client)).isEqualTo(BLOB);
    assertThat(other.requests)
        .containsExactly("/token?x=1&service=my+registry&scope=repository%3Avm%3Apull " + LOGIN);
    assertThat(registry.requests)
        .containsExactly(
            MANIFEST + " null", MANIFEST + " Bearer SECRET", BLOB_PATH + " Bearer SECRET");
  }

  @Test
  void aTokenMayBeHadWithoutCredentials() throws IOException {
    tokenAuth("{\"token\":\"SECRET\"}");
    assertThat(read(anonymous())).isEqualTo(BLOB);
    assertThat(other.requests).singleElement().asString().endsWith(" null");
  }

  @Test
  void anExpiredTokenIsRenewed() throws IOException {
    tokenAuth("{\"token\":\"SECRET\"}");
    RegistryClient client = joe();
    read(client);
    String challenge = "Bearer realm=\"http://" + other.host() + "/token\"";
    registry.on(BLOB_PATH, registry.guarded("Bearer SECRET-2", challenge, bytes(BLOB)));
    other.on("/token", text("{\"token\":\"SECRET-2\"}"));
    assertThat(read(client)).isEqualTo(BLOB);
  }

  private RegistryClient withIdentityToken() throws IOException {
    String json =
        "{\"auths\":{\"%s\":{\"identitytoken\":\"SECRET-ID\"}}}".formatted(registry.host());
    return client(Credentials.parse(json.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void anIdentityTokenBuysATokenInTheBodyOfAPost() throws IOException {
    tokenAuth("");
    var form = new AtomicReference<>("");
    other.on(
        "/token",
        exchange -> {
          byte[] body = exchange.getRequestBody().readAllBytes();
          form.set(exchange.getRequestMethod() + " " + new String(body, StandardCharsets.UTF_8));
          text("{\"access_token\":\"SECRET\"}").to(exchange);
        });
    assertThat(read(withIdentityToken())).isEqualTo(BLOB);
    assertThat(form.get())
        .isEqualTo(
            "POST grant_type=refresh_token&client_id=platter&service=my+registry"
                + "&scope=repository%3Avm%3Apull&refresh_token=SECRET-ID");
    assertThat(other.requests).containsExactly("/token?x=1 null");
  }

  @Test
  void anIdentityTokenIsNoPassword() throws IOException {
    registry.on(BLOB_PATH, registry.guarded("-", "Basic realm=\"x\"", bytes(BLOB)));
    RegistryClient client = withIdentityToken();
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(client));
    assertThat(registry.requests).containsExactly(BLOB_PATH + " null");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "nonsense SECRET", "{\"token\":\"SECRET\\r\\nX: y\"}"})
  void aTokenServerThatTalksNonsenseIsRefused(String answer) {
    tokenAuth(answer);
    assertFails(Kind.PROTOCOL, "/token answered with", () -> read(anonymous()));
  }

  @Test
  void wrongCredentialsAreReportedAsSuch() {
    tokenAuth("");
    other.on("/token", status(401));
    assertFails(Kind.UNAUTHORIZED, "refused the stored credentials", () -> read(joe()));
    assertFails(Kind.UNAUTHORIZED, "refused the anonymous access", () -> read(anonymous()));
  }

  @Test
  void aTokenThatDoesNotHelpIsNotBoughtAgainAndAgain() {
    tokenAuth("{\"token\":\"useless\"}");
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(joe()));
    assertThat(other.requests).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"http://example.com/token", "file:///etc/passwd", "http://[", "", "ftp://x/y"})
  void aPasswordIsNotSentToAnInsecureTokenServer(String realm) {
    registry.on(BLOB_PATH, registry.guarded("-", "Bearer realm=\"" + realm + "\"", bytes(BLOB)));
    assertFails(Kind.PROTOCOL, "", () -> read(joe()));
    assertThat(registry.requests).containsExactly(BLOB_PATH + " null");
  }

  @Test
  void basicAuthenticationWorks() throws IOException {
    registry.on(BLOB_PATH, registry.guarded(LOGIN, "Basic realm=\"x\"", bytes(BLOB)));
    assertThat(read(joe())).isEqualTo(BLOB);
    assertFails(Kind.UNAUTHORIZED, "docker login " + registry.host(), () -> read(anonymous()));
  }

  @Test
  void aRefusedPasswordIsSentOnce() {
    registry.on(BLOB_PATH, registry.guarded("-", "Basic realm=\"x\"", bytes(BLOB)));
    assertFails(Kind.UNAUTHORIZED, "do not suffice", () -> read(joe()));
    assertThat(registry.requests).hasSize(2);
  }
}
