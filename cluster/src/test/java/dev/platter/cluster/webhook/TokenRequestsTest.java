package dev.platter.cluster.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.UploadToken;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who gets a token, and what for. */
class TokenRequestsTest {
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final Authority AUTHORITY = Authority.make("ours", Validity.ALWAYS);
  private static final String API = "/apis/upload.cdi.kubevirt.io/v1beta1";

  /** Alice may ask in the namespace shop. */
  private static final class Cluster implements TokenRequests.Cluster {
    final Map<String, PersistentVolumeClaim> claims = new HashMap<>();

    @Override
    public FrontProxy frontProxy() {
      return FrontProxy.of(Map.of());
    }

    @Override
    public boolean allows(FrontProxy.User user, String namespace) {
      return user.name().equals("alice") && namespace.equals("shop");
    }

    @Override
    public Optional<PersistentVolumeClaim> claim(String namespace, String name) {
      return Optional.ofNullable(claims.get(namespace + "/" + name));
    }
  }

  private Cluster cluster = new Cluster();
  private TokenRequests requests =
      new TokenRequests(cluster, () -> AUTHORITY, InstantSource.fixed(NOW));

  @BeforeEach
  void claims() {
    cluster = new Cluster();
    requests = new TokenRequests(cluster, () -> AUTHORITY, InstantSource.fixed(NOW));
    cluster.claims.put("shop/root", claim("DiskUpload", null));
    cluster.claims.put("shop/imported", claim("DiskImport", null));
    cluster.claims.put("shop/full", claim("DiskUpload", "pv-1"));
    cluster.claims.put("bank/root", claim("DiskUpload", null));
  }

  private static PersistentVolumeClaim claim(String from, String volume) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withUid("uid-of-root")
        .endMetadata()
        .withNewSpec()
        .withVolumeName(volume)
        .withNewDataSourceRef("platter.dev", from, "root", null)
        .endSpec()
        .build();
  }

  private TokenRequests.Reply ask(String user, String namespace, String claim) {
    var body =
        "{\"metadata\": {\"name\": \"token-for-virtctl\"}, \"spec\": {\"pvcName\": \"%s\"}}"
            .formatted(claim);
    var asks =
        user.isEmpty()
            ? Optional.<FrontProxy.User>empty()
            : Optional.of(new FrontProxy.User(user, List.of(), Map.of()));
    return requests.answer(
        "POST",
        API + "/namespaces/" + namespace + "/uploadtokenrequests",
        () -> asks,
        body.getBytes(UTF_8));
  }

  private void isRefused(TokenRequests.Reply reply, int status, String reason) {
    assertThat(reply.status()).as(reply.toString()).isEqualTo(status);
    assertThat(reply.body().path("kind").asText()).isEqualTo("Status");
    assertThat(reply.body().path("reason").asText()).isEqualTo(reason);
    assertThat(reply.body().path("code").asInt()).isEqualTo(status);
    assertThat(reply.body().toString()).doesNotContain("token\":");
  }

  @Test
  void theTokenIsForThatClaimAndComesAtOnce() {
    var reply = ask("alice", "shop", "root");
    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.body().path("kind").asText()).isEqualTo("UploadTokenRequest");
    assertThat(reply.body().at("/metadata/name").asText()).isEqualTo("token-for-virtctl");
    assertThat(reply.body().at("/metadata/namespace").asText()).isEqualTo("shop");
    assertThat(reply.body().at("/spec/pvcName").asText()).isEqualTo("root");
    var keys = List.of(AUTHORITY.certificate().getPublicKey());
    assertThat(UploadToken.read(reply.body().at("/status/token").asText(), keys, NOW))
        .contains(new UploadToken("shop", "root", "uid-of-root", NOW.plusSeconds(300)));
  }

  @Test
  void whoMayNotAskGetsNone() {
    isRefused(ask("", "shop", "root"), 401, "Unauthorized");
    isRefused(ask("mallory", "shop", "root"), 403, "Forbidden");
    isRefused(ask("alice", "bank", "root"), 403, "Forbidden");
  }

  @Test
  void thereIsNoneForAClaimThatDoesNotWaitForADisk() {
    isRefused(ask("alice", "shop", "other"), 404, "NotFound");
    isRefused(ask("alice", "shop", "imported"), 422, "Invalid");
    isRefused(ask("alice", "shop", "full"), 409, "Conflict");
    for (var name : List.of("", "../../pods/x", "a/b", "Root", "a%2fb", "a".repeat(254))) {
      isRefused(ask("alice", "shop", name), 422, "Invalid");
    }
  }

  @Test
  void theyAreMadeAndNeitherListedNorRead() {
    var path = API + "/namespaces/shop/uploadtokenrequests";
    Optional<FrontProxy.User> alice =
        Optional.of(new FrontProxy.User("alice", List.of(), Map.of()));
    isRefused(requests.answer("GET", path, () -> alice, new byte[0]), 405, "MethodNotAllowed");
    isRefused(requests.answer("GET", path + "/a", () -> alice, new byte[0]), 404, "NotFound");
    isRefused(requests.answer("POST", path, () -> alice, new byte[] {'{'}), 400, "BadRequest");
    isRefused(requests.answer("POST", path, () -> alice, new byte[] {'1'}), 400, "BadRequest");
    isRefused(
        requests.answer("POST", path.replace("shop", "../x"), () -> alice, new byte[0]),
        404,
        "NotFound");
  }
}
