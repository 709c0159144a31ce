package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.redirect;
import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Digest;
import dev.platter.image.oci.MediaTypes;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Registries that want credentials, are overloaded, break off, or lie. */
class HostileRegistryTest {
  private static final String MANIFEST = "/v2/vm/manifests/v1";
  private static final byte[] BLOB = "0123456789".getBytes(StandardCharsets.UTF_8);
  private static final Descriptor DESCRIPTOR = new Descriptor("t", Digest.of(BLOB), BLOB.length);
  private static final String BLOB_PATH = "/v2/vm/blobs/" + DESCRIPTOR.digest();
  private static final String IMAGE =
      "{\"schemaVersion\":2,\"config\":%1$s,\"layers\":[%1$s]}"
          .formatted(
              "{\"mediaType\":\"t\",\"digest\":\"" + DESCRIPTOR.digest() + "\",\"size\":10}");
  private static final String LOGIN = "Basic am9lOmh1bnRlcjI="; // joe:hunter2

  private FakeRegistry registry;
  private FakeRegistry other;

  @BeforeEach
  void start() throws IOException {
    registry = new FakeRegistry();
    other = new FakeRegistry();
  }

  @AfterEach
  void stop() {
    registry.close();
    other.close();
  }

  private RegistryClient client(Credentials credentials) {
    return client(registry.image(), credentials);
  }

  private static RegistryClient client(Reference image, Credentials credentials) {
    return FakeRegistry.impatient(RegistrySettings.defaults(), credentials).client(image);
  }

  private RegistryClient anonymous() {
    return client(Credentials.none());
  }

  private RegistryClient joe() throws IOException {
    String json =
        "{\"auths\":{\"%s\":{\"username\":\"joe\",\"password\":\"hunter2\"}}}"
            .formatted(registry.host());
    return client(Credentials.parse(json.getBytes(StandardCharsets.UTF_8)));
  }

  private static byte[] read(RegistryClient client) throws IOException {
    try (InputStream in = client.open(DESCRIPTOR)) {
      return in.readAllBytes();
    }
  }

  private static void assertFails(Kind kind, String why, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(RegistryException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContaining(why)
        .message()
        .doesNotContain("hunter2", "am9lOmh1bnRlcjI", "SECRET");
  }

  // --- credentials

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

  // --- redirects

  @Test
  void credentialsDoNotFollowARedirectToAnotherOrigin() throws IOException {
    registry.on(
        BLOB_PATH,
        registry.guarded(
            LOGIN, "Basic realm=\"x\"", redirect("http://" + other.host() + "/cdn?sig=1")));
    other.on("/cdn", bytes(BLOB));
    assertThat(read(joe())).isEqualTo(BLOB);
    assertThat(other.requests).containsExactly("/cdn?sig=1 null");
  }

  @Test
  void credentialsDoNotComeBackOnADetour() throws IOException {
    registry.on(
        BLOB_PATH,
        registry.guarded(LOGIN, "Basic realm=\"x\"", redirect("http://" + other.host() + "/a")));
    other.on("/a", redirect("http://" + registry.host() + "/b"));
    registry.on("/b", bytes(BLOB));
    assertThat(read(joe())).isEqualTo(BLOB);
    assertThat(registry.requests.getLast()).isEqualTo("/b null");
  }

  @Test
  void aStrangerWhoAsksForThePasswordDoesNotGetIt() {
    registry.on(BLOB_PATH, redirect("http://" + other.host() + "/thief"));
    other.on("/thief", other.guarded(LOGIN, "Basic realm=\"x\"", bytes(BLOB)));
    assertFails(Kind.UNAUTHORIZED, "refused", () -> read(joe()));
    assertThat(other.requests).containsExactly("/thief null");
  }

  @Test
  void redirectsWithinTheOriginKeepTheCredentials() throws IOException {
    registry.on(BLOB_PATH, registry.guarded(LOGIN, "Basic realm=\"x\"", redirect("/moved")));
    registry.on("/moved", registry.guarded(LOGIN, "Basic realm=\"x\"", bytes(BLOB)));
    assertThat(read(joe())).isEqualTo(BLOB);
  }

  @Test
  void aLoopOfRedirectsEnds() {
    registry.on(BLOB_PATH, redirect(BLOB_PATH));
    assertFails(Kind.PROTOCOL, "more than 5 redirects", () -> read(anonymous()));
    assertThat(registry.requests).hasSize(6);
  }

  @Test
  void aRedirectToPlainHttpElsewhereIsRefused() {
    registry.on(BLOB_PATH, redirect("http://example.com/x?SECRET"));
    assertFails(Kind.PROTOCOL, "refused to go to http://example.com/x:", () -> read(anonymous()));
  }

  // --- trouble

  @ParameterizedTest
  @ValueSource(ints = {429, 500, 502, 503, 504})
  void anOverloadedRegistryIsAskedAgain(int status) throws IOException {
    var asked = new AtomicInteger();
    registry.on(
        BLOB_PATH,
        exchange -> (asked.incrementAndGet() < 3 ? status(status) : bytes(BLOB)).to(exchange));
    assertThat(read(anonymous())).isEqualTo(BLOB);
    assertThat(asked).hasValue(3);
  }

  @Test
  void theRegistrySaysHowLongToWait() throws IOException {
    var asked = new AtomicInteger();
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.getResponseHeaders().set("Retry-After", "1");
          (asked.incrementAndGet() < 2 ? status(429) : bytes(BLOB)).to(exchange);
        });
    long start = System.nanoTime();
    assertThat(read(anonymous())).isEqualTo(BLOB);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(990));
  }

  @Test
  void aRegistryThatStaysOverloadedIsUnavailable() {
    registry.on(BLOB_PATH, status(503));
    assertFails(Kind.UNAVAILABLE, "answered 503, also after 4 attempts", () -> read(anonymous()));
  }

  @Test
  void aRegistryThatIsNotThereIsUnavailable() throws IOException {
    int port;
    try (var socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }
    RegistryClient client =
        client(Reference.parse("127.0.0.1:" + port + "/vm"), Credentials.none());
    assertFails(Kind.UNAVAILABLE, "cannot reach http://127.0.0.1:" + port, () -> read(client));
  }

  @Test
  void aConnectionThatBreaksBeforeTheAnswerIsTriedAgain() throws IOException {
    var asked = new AtomicInteger();
    registry.on(
        BLOB_PATH,
        exchange -> {
          if (asked.incrementAndGet() >= 2) {
            bytes(BLOB).to(exchange);
          }
        });
    assertThat(read(anonymous())).isEqualTo(BLOB);
  }

  @Test
  void aBlobThatBreaksOffIsNotTakenForWhole() {
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.sendResponseHeaders(200, 10);
          exchange.getResponseBody().write(BLOB, 0, 5);
          exchange.getResponseBody().flush();
        });
    assertFails(Kind.UNAVAILABLE, "broke after 5 bytes", () -> read(anonymous()));
  }

  @Test
  void aBlobThatStallsIsGivenUp() {
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.sendResponseHeaders(200, 10);
          exchange.getResponseBody().write(BLOB, 0, 5);
          exchange.getResponseBody().flush();
          sleep();
        });
    assertFails(Kind.UNAVAILABLE, "nothing came for", () -> read(anonymous()));
  }

  @Test
  void aRegistryThatNeverAnswersIsGivenUp() {
    registry.on(BLOB_PATH, _ -> sleep());
    assertFails(Kind.UNAVAILABLE, "cannot reach", () -> read(anonymous()));
  }

  private static void sleep() {
    try {
      Thread.sleep(5_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // --- lies

  @Test
  void shortLongAndOtherBytesAreRefused() {
    byte[] changed = BLOB.clone();
    changed[9] ^= 1;
    for (byte[] lie : new byte[][] {Arrays.copyOf(BLOB, 9), Arrays.copyOf(BLOB, 11), changed, {}}) {
      registry.on(BLOB_PATH, bytes(lie));
      assertThatThrownBy(() -> read(anonymous()))
          .isInstanceOf(BadImageException.class)
          .hasMessageContaining(DESCRIPTOR.digest().toString());
    }
  }

  @Test
  void anEndlessBlobIsCutAtOnce() {
    registry.on(
        BLOB_PATH,
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          while (true) {
            exchange.getResponseBody().write(BLOB);
          }
        });
    assertThatThrownBy(() -> read(anonymous()))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("goes on after its 10 bytes");
  }

  @Test
  void aManifestWithAnotherDigestIsRefusedWhateverTheHeaderSays() {
    Digest asked = Digest.of(new byte[] {1});
    registry.on(
        "/v2/vm/manifests/" + asked,
        exchange -> {
          exchange.getResponseHeaders().set("Docker-Content-Digest", asked.toString());
          text(IMAGE).to(exchange);
        });
    assertThatThrownBy(() -> anonymous().resolve(asked.toString()))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("got one with digest");
  }

  @Test
  void theDigestIsComputedNotBelieved() throws IOException {
    registry.on(
        MANIFEST,
        exchange -> {
          exchange
              .getResponseHeaders()
              .set("Docker-Content-Digest", Digest.of(new byte[0]).toString());
          text(IMAGE).to(exchange);
        });
    assertThat(anonymous().resolve().descriptor().digest())
        .isEqualTo(Digest.of(IMAGE.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void aManifestInAnIndexMustBeTheOneThatTheIndexNames() {
    String index =
        "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":10}]}"
            .formatted(MediaTypes.OCI_MANIFEST, DESCRIPTOR.digest());
    registry.on(MANIFEST, text(index));
    registry.on("/v2/vm/manifests/" + DESCRIPTOR.digest(), text(IMAGE));
    assertThatThrownBy(() -> anonymous().resolve())
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("goes on after its 10 bytes");
  }

  @Test
  void anEndlessManifestIsCutAtTheLimit() {
    registry.on(
        MANIFEST,
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          byte[] blanks = new byte[64 << 10];
          Arrays.fill(blanks, (byte) ' ');
          while (true) {
            exchange.getResponseBody().write(blanks);
          }
        });
    assertThatThrownBy(() -> anonymous().resolve())
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("larger than 4194304 bytes");
  }

  @ParameterizedTest
  @CsvSource({
    "404, NOT_FOUND, has no manifest v1 of",
    "403, UNAUTHORIZED, refused the manifest v1 of",
    "400, PROTOCOL, answered 400 DENIED to the request for manifest v1 of",
    "206, PROTOCOL, answered 206",
  })
  void theStatusSaysWhatWentWrong(int status, Kind kind, String why) {
    byte[] body =
        "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"SECRET\"}]}"
            .getBytes(StandardCharsets.UTF_8);
    registry.on(
        MANIFEST,
        exchange -> {
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
        });
    assertFails(kind, why, () -> anonymous().resolve());
  }

  @ParameterizedTest
  @ValueSource(strings = {"../blobs/x", "a/b", "", "a?b", "sha256:../x"})
  void aTagCannotLeadElsewhere(String tag) {
    assertThatThrownBy(() -> anonymous().resolve(tag)).isInstanceOf(Exception.class);
    assertThat(registry.requests).isEmpty();
  }
}
