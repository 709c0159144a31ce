package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.UploadToken;
import dev.platter.lab.Certificates;
import dev.platter.lab.Shell;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whom the server believes for whom they ask. The certificates are openssl's, the client curl. */
class TokenServerTest {
  private static final String HOST = "platter-webhook.platter-system.svc";
  private static final String PATH =
      "/apis/upload.cdi.kubevirt.io/v1beta1/namespaces/shop/uploadtokenrequests";
  private static final Authority AUTHORITY = Authority.make("ours", Validity.ALWAYS);

  @TempDir Path work;
  private final Map<String, String> said = new HashMap<>();
  private final List<FrontProxy.User> users = new ArrayList<>();
  private Certificates front;
  private Certificates other;
  private WebhookServer server;

  private final class Cluster implements TokenRequests.Cluster {
    @Override
    public FrontProxy frontProxy() {
      return FrontProxy.of(said);
    }

    @Override
    public boolean allows(FrontProxy.User user, String namespace) {
      users.add(user);
      return true;
    }

    @Override
    public Optional<PersistentVolumeClaim> claim(String namespace, String name) {
      return Optional.of(
          new PersistentVolumeClaimBuilder()
              .withNewMetadata()
              .withUid("u-1")
              .endMetadata()
              .withNewSpec()
              .withNewDataSourceRef("platter.dev", "DiskUpload", name, null)
              .endSpec()
              .build());
    }
  }

  @BeforeEach
  void start() throws IOException {
    front = Certificates.make(Files.createDirectory(work.resolve("front")));
    other = Certificates.make(Files.createDirectory(work.resolve("other")));
    said.put("requestheader-client-ca-file", Files.readString(front.ca()));
    said.put("requestheader-allowed-names", "[\"client\"]");
    said.put("requestheader-username-headers", "[\"X-Remote-User\"]");
    said.put("requestheader-group-headers", "[\"X-Remote-Group\"]");
    said.put("requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]");
    var store = new MemoryStore();
    var certificates = new ServingCertificates(store, HOST, Clock.systemUTC());
    certificates.refresh();
    server =
        new WebhookServer(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            certificates.context(),
            new Admission(new MapObjects(), LauncherGoldenTest.OPTIONS, System.err::println),
            new TokenRequests(new Cluster(), () -> AUTHORITY, Clock.systemUTC()),
            certificates::ready);
    server.start();
    Files.write(work.resolve("ca.crt"), store.trusted);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private String curl(String path, List<Object> more) {
    var command = new ArrayList<Object>();
    command.addAll(List.of("curl", "-sS", "--noproxy", "*", "--cacert", work.resolve("ca.crt")));
    command.addAll(List.of("--resolve", HOST + ":" + server.port() + ":127.0.0.1"));
    command.addAll(more);
    command.add("https://" + HOST + ":" + server.port() + path);
    return Shell.run(command.toArray());
  }

  private static List<Object> by(Certificates certificates) {
    return List.of(
        "--cert",
        certificates.client().resolve("client-cert.pem"),
        "--key",
        certificates.client().resolve("client-key.pem"));
  }

  private String ask(List<Object> who) {
    var more = new ArrayList<>(who);
    more.addAll(List.of("-H", "X-Remote-User: alice"));
    more.addAll(List.of("-H", "X-Remote-Group: devs", "-H", "X-Remote-Group: ops"));
    more.addAll(List.of("-H", "X-Remote-Extra-A%2fb: c"));
    more.addAll(List.of("-d", "{\"spec\": {\"pvcName\": \"root\"}}"));
    return curl(PATH, more);
  }

  @Test
  void theApiServerIsBelievedForWhomItAsks() throws IOException {
    var answer = Json.MAPPER.readTree(ask(by(front)));
    var keys = List.of(AUTHORITY.certificate().getPublicKey());
    assertThat(UploadToken.read(answer.at("/status/token").asText(), keys, Instant.now()))
        .map(UploadToken::uid)
        .contains("u-1");
    assertThat(users)
        .containsExactly(
            new FrontProxy.User("alice", List.of("devs", "ops"), Map.of("a/b", List.of("c"))));
  }

  @Test
  void nobodyElseIs() {
    assertThat(ask(List.of())).contains("\"Unauthorized\"");
    assertThat(ask(by(other))).contains("\"Unauthorized\"");
    said.put("requestheader-allowed-names", "[\"front-proxy\"]");
    assertThat(ask(by(front))).contains("\"Unauthorized\"");
    said.put("requestheader-allowed-names", "[]");
    assertThat(ask(by(front))).contains("\"token\"");
    said.remove("requestheader-client-ca-file");
    assertThat(ask(by(front))).contains("\"Unauthorized\"");
  }

  @Test
  void whatThereIsAndTheWebhookItselfAreForThoseWhoShowNothingOrAnything() {
    for (var who : List.of(List.of(), by(front), by(other))) {
      assertThat(curl("/apis/upload.cdi.kubevirt.io/v1beta1", who))
          .contains("\"APIResourceList\"", "\"uploadtokenrequests\"");
      assertThat(curl("/readyz", who)).isEqualTo("ok\n");
    }
  }

  private String reviewed(String claim) throws IOException {
    var review = Json.object();
    var request = review.putObject("request").put("uid", "u-1").put("namespace", "shop");
    request.set("object", Yaml.one(claim));
    Files.writeString(work.resolve("review.json"), Json.write(review));
    var answer =
        Json.MAPPER.readTree(
            curl("/claims", List.of("--data-binary", "@" + work.resolve("review.json"))));
    assertThat(answer.at("/response/allowed").asBoolean()).isTrue();
    var patch = answer.at("/response/patch").asText();
    return new String(Base64.getDecoder().decode(patch), java.nio.charset.StandardCharsets.UTF_8);
  }

  @Test
  void aClaimThatNamesNothingNamesAnUploadOfItsName() throws IOException {
    assertThat(reviewed("metadata: {name: root}\nspec: {storageClassName: fast}\n"))
        .isEqualTo(
            "[{\"op\":\"add\",\"path\":\"/spec/dataSourceRef\",\"value\":{\"apiGroup\":\"platter.dev\",\"kind\":\"DiskUpload\",\"name\":\"root\"}}]");
    assertThat(reviewed("metadata: {name: root}\nspec: {dataSource: {kind: a, name: b}}\n"))
        .isEmpty();
    assertThat(reviewed("metadata: {name: root}\nspec: {dataSourceRef: {kind: a, name: b}}\n"))
        .isEmpty();
  }
}
