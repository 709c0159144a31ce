package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static dev.platter.registry.FakeUploads.Fate.FINE;
import static dev.platter.registry.FakeUploads.Fate.answers;
import static dev.platter.registry.FakeUploads.Fate.dies;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Uploads that die half-way, to a registry that remembers them, and to one that does not. */
class UploadTest {
  private static final byte[] BYTES = random();
  private static final Descriptor BLOB = new Descriptor("t", Digest.of(BYTES), BYTES.length);
  private static final int CHUNK = 1000;

  private FakeRegistry registry;
  private final List<Long> progress = new ArrayList<>();

  private static byte[] random() {
    byte[] bytes = new byte[2500];
    new Random(6).nextBytes(bytes);
    return bytes;
  }

  @BeforeEach
  void start() throws IOException {
    registry = new FakeRegistry();
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  private RegistryPush push(Credentials credentials) throws IOException {
    return FakeRegistry.eager(RegistrySettings.defaults(), credentials)
        .push(registry.image())
        .inChunksOf(CHUNK);
  }

  private void push() throws IOException {
    push(Credentials.none()).blob(BlobContent.of(BLOB, BYTES), (_, bytes) -> progress.add(bytes));
  }

  @Test
  void aLargeBlobGoesInChunks() throws IOException {
    var uploads = new FakeUploads(registry, BLOB);
    push();
    assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
    assertThat(uploads.calls)
        .containsExactly(
            "HEAD", "POST", "PATCH 0-999", "PATCH 1000-1999", "PATCH 2000-2499", "PUT", "HEAD");
    assertThat(progress).containsExactly(1000L, 2000L, 2500L, 2500L);
  }

  @Test
  void aSmallBlobGoesInOneRequest() throws IOException {
    byte[] small = Arrays.copyOf(BYTES, CHUNK);
    var descriptor = new Descriptor("t", Digest.of(small), small.length);
    var uploads = new FakeUploads(registry, descriptor);
    push(Credentials.none()).blob(BlobContent.of(descriptor, small), PushProgress.NONE);
    assertThat(uploads.calls).containsExactly("HEAD", "POST", "PUT", "HEAD");
  }

  @Test
  void aRegistryMayWantLargerChunks() throws IOException {
    var uploads = new FakeUploads(registry, BLOB);
    uploads.leastChunk = 2000;
    push();
    assertThat(uploads.calls).contains("PATCH 0-1999", "PATCH 2000-2499");
  }

  @Test
  void aMountThatFailsIsTheUploadAndAnotherOneIsCancelled() throws IOException {
    var uploads = new FakeUploads(registry, BLOB);
    FakeRegistry.eager(RegistrySettings.defaults(), Credentials.none())
        .push(registry.image(), "one", "two")
        .blob(BlobContent.of(BLOB, BYTES), PushProgress.NONE);
    assertThat(uploads.calls).containsExactly("HEAD", "POST", "POST", "DELETE", "PUT", "HEAD");
  }

  @Test
  void onlyAPlainNameCanBeMountedFrom() {
    Registries registries = FakeRegistry.eager(RegistrySettings.defaults(), Credentials.none());
    for (String name : List.of("a:b", "a&mount=x", "A", "", "a@" + BLOB.digest())) {
      assertThatThrownBy(() -> registries.push(registry.image(), name))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aChunkThatDiesHalfWayGoesOnFromWhereTheRegistryIs() throws IOException {
    var uploads = new FakeUploads(registry, BLOB, FINE, dies(300));
    push();
    assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
    assertThat(uploads.calls)
        .containsExactly(
            "HEAD",
            "POST",
            "PATCH 0-999",
            "PATCH 1000-1999",
            "GET",
            "PATCH 1300-2299",
            "PATCH 2300-2499",
            "PUT",
            "HEAD");
  }

  @Test
  void anOverloadedRegistryIsAskedWhereItIs() throws IOException {
    var uploads = new FakeUploads(registry, BLOB, FINE, answers(status(503)));
    push();
    assertThat(uploads.calls).containsSubsequence("PATCH 1000-1999", "GET", "PATCH 1000-1999");
  }

  @Test
  void anUploadThatIsForgottenStartsAgain() throws IOException {
    var uploads = new FakeUploads(registry, BLOB, FINE, answers(status(404)));
    push();
    assertThat(uploads.calls).containsSubsequence("PATCH 1000-1999", "POST", "PATCH 0-999");
    assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
    assertThat(progress).startsWith(1000L, 0L, 1000L);
  }

  /** Docker's registry says the same for one byte and for none. */
  @Test
  void anUploadThatMayHaveOneByteStartsAgain() throws IOException {
    var uploads = new FakeUploads(registry, BLOB, dies(1));
    push();
    assertThat(uploads.calls)
        .containsSubsequence("PATCH 0-999", "GET", "POST", "PATCH 0-999", "PATCH 1000-1999");
    assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
  }

  @Test
  void anEndWhoseAnswerIsLostIsNotRepeated() throws IOException {
    var uploads =
        new FakeUploads(
            registry,
            BLOB,
            FINE,
            FINE,
            FINE,
            (fake, _) -> {
              fake.done = true;
              return true;
            });
    push();
    assertThat(uploads.calls).endsWith("PUT", "HEAD", "HEAD");
  }

  @Test
  void anEndThatFailsIsRepeatedWithoutSendingTheBlobAgain() throws IOException {
    var uploads = new FakeUploads(registry, BLOB, FINE, FINE, FINE, answers(status(503)));
    push();
    assertThat(uploads.calls).endsWith("PATCH 2000-2499", "PUT", "HEAD", "GET", "PUT", "HEAD");
  }

  @Test
  void aRegistryThatFailsEveryTimeIsGivenUpAndTheUploadCancelled() {
    FakeUploads.Fate[] fates = new FakeUploads.Fate[20];
    Arrays.fill(fates, answers(status(503)));
    var uploads = new FakeUploads(registry, BLOB, fates);
    assertThatThrownBy(this::push)
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE));
    assertThat(uploads.calls).hasSizeLessThan(20).last().isEqualTo("DELETE");
  }

  @Test
  void aDigestThatDoesNotFitIsRefusedAndTheUploadCancelled() {
    byte[] changed = BYTES.clone();
    changed[7] ^= 1;
    var uploads = new FakeUploads(registry, BLOB);
    assertThatThrownBy(
            () -> push(Credentials.none()).blob(BlobContent.of(BLOB, changed), PushProgress.NONE))
        .hasMessageContaining("answered 400");
    assertThat(uploads.calls).last().isEqualTo("DELETE");
  }

  @Test
  void aRegistryThatSaysItStoredAnotherDigestIsNotBelieved() {
    new FakeUploads(
        registry,
        BLOB,
        FINE,
        FINE,
        FINE,
        answers(
            exchange -> {
              exchange
                  .getResponseHeaders()
                  .set("Docker-Content-Digest", Digest.of(new byte[0]).toString());
              exchange.sendResponseHeaders(201, -1);
            }));
    assertThatThrownBy(this::push).hasMessageContaining("says that it stored something else");
  }

  @Test
  void aBlobThatWasTakenButIsNotThereIsNotPushed() {
    new FakeUploads(registry, BLOB, FINE, FINE, FINE, answers(status(201)));
    assertThatThrownBy(this::push).hasMessageContaining("does not have it");
  }

  @Test
  void aSourceThatFailsIsNotReadAgainAndAgain() throws IOException {
    new FakeUploads(registry, BLOB);
    var opened = new AtomicInteger();
    var content =
        new BlobContent(
            BLOB,
            _ -> {
              opened.incrementAndGet();
              return new InputStream() {
                @Override
                public int read() throws IOException {
                  throw new IOException("bad sector");
                }
              };
            });
    RegistryPush push = push(Credentials.none());
    assertThatThrownBy(() -> push.blob(content, PushProgress.NONE)).hasMessage("bad sector");
    assertThat(opened).hasValue(1);
  }

  private FakeUploads.Fate wants(String token) {
    return (_, exchange) -> {
      String given = exchange.getRequestHeaders().getFirst("Authorization");
      if (("Bearer " + token).equals(given)) {
        return false;
      }
      exchange.getRequestBody().readAllBytes();
      exchange
          .getResponseHeaders()
          .set("WWW-Authenticate", "Bearer realm=\"http://" + registry.host() + "/token\"");
      exchange.sendResponseHeaders(401, -1);
      return true;
    };
  }

  @Test
  void aTokenThatExpiresDuringAnUploadIsReplaced() throws IOException {
    var sold = new AtomicInteger();
    registry.on(
        "/token", exchange -> text("{\"token\":\"T" + sold.incrementAndGet() + "\"}").to(exchange));
    var uploads =
        new FakeUploads(registry, BLOB, FINE, wants("T1"), wants("T1"), wants("T2"), wants("T2"));
    push();
    assertThat(uploads.received.toByteArray()).isEqualTo(BYTES);
    assertThat(uploads.calls).doesNotContain("GET");
    assertThat(sold).hasValue(2);
    assertThat(registry.requests)
        .filteredOn(request -> request.startsWith("/token"))
        .first()
        .asString()
        .startsWith("/token?scope=repository%3Avm%3Apull%2Cpush");
  }
}
