package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.MediaTypes;
import dev.platter.registry.FakeRegistry.Answer;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Registries with a list of referrers of their own, which Docker's has not. */
class ReferrersTest {
  private static final Digest SUBJECT = Digest.of(new byte[] {1});
  private static final Digest ONE = Digest.of(new byte[] {2});
  private static final Digest TWO = Digest.of(new byte[] {3});
  private static final String PATH = "/v2/vm/referrers/" + SUBJECT;
  private static final String TAG = "/v2/vm/manifests/sha256-" + SUBJECT.hex();

  private FakeRegistry registry;
  private Registries registries;

  @BeforeEach
  void start() throws IOException {
    registry = new FakeRegistry();
    registries = FakeRegistry.eager(RegistrySettings.defaults(), Credentials.none());
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  private static String entry(Digest digest, String type) {
    return "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":5,\"artifactType\":\"%s\"}"
        .formatted(MediaTypes.OCI_MANIFEST, digest, type);
  }

  private static Answer index(String... entries) {
    return exchange -> {
      exchange.getResponseHeaders().set("Content-Type", MediaTypes.OCI_INDEX);
      text("{\"schemaVersion\":2,\"manifests\":[" + String.join(",", entries) + "]}").to(exchange);
    };
  }

  private List<Digest> list(String type) throws IOException {
    return registries.client(registry.image()).referrers(SUBJECT, type).stream()
        .map(referrer -> referrer.manifest().digest())
        .toList();
  }

  @Test
  void theRegistryIsAskedToFilterAndItIsDoneHereToo() throws IOException {
    registry.on(PATH, index(entry(ONE, "a/b+c"), entry(TWO, "other")));
    assertThat(list("a/b+c")).containsExactly(ONE);
    assertThat(registry.requests).containsExactly(PATH + "?artifactType=a%2Fb%2Bc null");
    assertThat(list(null)).containsExactly(ONE, TWO);
  }

  @Test
  void aLongListIsReadPageByPage() throws IOException {
    registry.on(
        PATH,
        exchange -> {
          boolean second = "page=2".equals(exchange.getRequestURI().getQuery());
          if (!second) {
            exchange.getResponseHeaders().set("Link", "<" + PATH + "?page=2>; rel=\"next\"");
          }
          index(entry(second ? TWO : ONE, "x")).to(exchange);
        });
    assertThat(list(null)).containsExactly(ONE, TWO);
  }

  @Test
  void anEndlessListEnds() throws IOException {
    registry.on(
        PATH,
        exchange -> {
          exchange.getResponseHeaders().set("Link", "<" + PATH + "?more>; rel=next");
          index(entry(ONE, "x")).to(exchange);
        });
    assertThatThrownBy(() -> list(null))
        .isInstanceOf(RegistryException.class)
        .hasMessageContaining("more than 32 pages");
  }

  @Test
  void withoutAListTheTagIsRead() throws IOException {
    registry.on(TAG, index(entry(ONE, "x"), entry(TWO, "y")));
    assertThat(list("y")).containsExactly(TWO);
    assertThat(registry.requests.getLast()).startsWith(TAG);
  }

  @Test
  void aWebPageIsNoList() throws IOException {
    registry.on(PATH, text("<html>"));
    assertThat(list(null)).isEmpty();
  }

  @Test
  void aListThatIsRefusedIsNotTakenForEmpty() {
    registry.on(PATH, status(403));
    assertThatThrownBy(() -> list(null)).isInstanceOf(RegistryException.class);
  }

  @Test
  void nonsenseIsRefused() {
    registry.on(PATH, index("{\"digest\":\"x\"}"));
    assertThatThrownBy(() -> list(null)).isInstanceOf(BadImageException.class);
  }

  @Test
  void aRegistryThatKeepsTheListSparesUsTheTag() throws IOException {
    registry.on("/v2/vm/blobs/" + Artifact.EMPTY.descriptor().digest(), status(200));
    var subject = new Descriptor(MediaTypes.OCI_MANIFEST, SUBJECT, 5);
    Descriptor expected =
        new Descriptor(
            MediaTypes.OCI_MANIFEST,
            Digest.of(new Artifact(subject, "x/y", List.of(), Map.of()).manifest()),
            new Artifact(subject, "x/y", List.of(), Map.of()).manifest().length);
    registry.on(
        "/v2/vm/manifests/" + expected.digest(),
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.getResponseHeaders().set("OCI-Subject", SUBJECT.toString());
          status(exchange.getRequestMethod().equals("PUT") ? 201 : 200).to(exchange);
        });
    assertThat(registries.push(registry.image()).attach(subject, "x/y", List.of(), Map.of()))
        .isEqualTo(expected);
    assertThat(registry.requests).noneMatch(request -> request.startsWith(TAG));
  }
}
