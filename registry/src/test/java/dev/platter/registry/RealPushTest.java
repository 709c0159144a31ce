package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What we push to Docker's own registry, skopeo reads; what skopeo pushes, we read in parts. */
class RealPushTest {
  private static final String BCRYPT_OF_SECRET =
      "$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

  @TempDir Path work;
  private DockerRegistry registry;
  private OciLayout layout;
  private Descriptor image;

  @BeforeEach
  void start() throws IOException {
    byte[] content = new byte[3_000_000];
    new Random(12).nextBytes(content);
    Path disk = Files.write(work.resolve("vm.img"), content);
    image =
        new OciLayoutWriter(work.resolve("layout")).add("v1", Platform.LINUX_AMD64, "vm.img", disk);
    layout = new OciLayout(work.resolve("layout"));
    registry = new DockerRegistry(work, "");
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  private Reference reference(String name) {
    return Reference.parse(registry.host() + "/" + name);
  }

  private static Registries registries(Credentials credentials) {
    return new Registries(RegistrySettings.defaults(), credentials);
  }

  private Path blob(Descriptor descriptor) {
    return work.resolve("layout/blobs/sha256/" + descriptor.digest().hex());
  }

  private List<BlobContent> blobs() throws IOException {
    Resolved resolved = layout.resolve("v1");
    return Stream.concat(
            Stream.of(resolved.manifest().config()), resolved.manifest().layers().stream())
        .map(descriptor -> BlobContent.of(descriptor, blob(descriptor)))
        .toList();
  }

  private void push(RegistryPush push, String tag) throws IOException {
    push.blobs(blobs(), PushProgress.NONE);
    assertThat(push.manifest(Files.readAllBytes(blob(image)), tag)).isEqualTo(image);
  }

  private String skopeo(String arguments) throws IOException {
    return DockerRegistry.sh(work, "skopeo " + arguments).strip();
  }

  @ParameterizedTest
  @ValueSource(longs = {16 << 20, 1 << 20, 999_999})
  void whatWePushSkopeoReads(long chunk) throws IOException {
    push(registries(Credentials.none()).push(reference("disks/vm")).inChunksOf(chunk), "v1");
    skopeo(
        "copy -q --src-tls-verify=false --preserve-digests docker://%s/disks/vm:v1 oci:copy:v1"
            .formatted(registry.host()));
    for (BlobContent blob : blobs()) {
      assertThat(work.resolve("copy/blobs/sha256/" + blob.descriptor().digest().hex()))
          .hasSameBinaryContentAs(blob(blob.descriptor()));
    }
    assertThat(
            skopeo(
                "inspect --tls-verify=false --format '{{.Digest}}' docker://%s/disks/vm:v1"
                    .formatted(registry.host())))
        .isEqualTo(image.digest().toString());
  }

  @Test
  void whatIsThereIsNotSentAgain() throws IOException {
    RegistryPush push = registries(Credentials.none()).push(reference("vm"));
    push(push, "v1");
    Descriptor layer = blobs().getLast().descriptor();
    assertThat(push.exists(layer)).isTrue();
    var neverRead =
        new BlobContent(
            layer,
            _ -> {
              throw new IOException("read");
            });
    var sent = new ArrayList<Long>();
    push.blob(neverRead, (_, bytes) -> sent.add(bytes));
    assertThat(sent).containsExactly(layer.size());
  }

  @Test
  void whatAnotherRepositoryHasIsMounted() throws IOException {
    Registries registries = registries(Credentials.none());
    push(registries.push(reference("first")), "v1");
    RegistryPush push = registries.push(reference("second"), "nobody", "first");
    Descriptor layer = blobs().getLast().descriptor();
    assertThat(push.exists(layer)).isFalse();
    push.blob(
        new BlobContent(
            layer,
            _ -> {
              throw new IOException("read");
            }),
        PushProgress.NONE);
    assertThat(push.exists(layer)).isTrue();
  }

  @Test
  void whatCannotBeMountedIsUploaded() throws IOException {
    push(registries(Credentials.none()).push(reference("second"), "nobody"), "v1");
    skopeo("inspect --tls-verify=false docker://%s/second:v1".formatted(registry.host()));
  }

  @Test
  void anIndexIsPushedByTagAndManifestsByDigest() throws IOException {
    RegistryPush push = registries(Credentials.none()).push(reference("vm"));
    push.blobs(blobs(), PushProgress.NONE);
    assertThat(push.manifest(Files.readAllBytes(blob(image)))).isEqualTo(image);
    String index =
        "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"manifests\":[{\"mediaType\":\"%s\",\"digest\":\"%s\","
                .formatted(MediaTypes.OCI_INDEX, image.mediaType(), image.digest())
            + "\"size\":%d,\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}}]}"
                .formatted(image.size());
    push.manifest(index.getBytes(StandardCharsets.UTF_8), "multi");
    assertThat(
            skopeo(
                "--override-arch amd64 inspect --tls-verify=false --format '{{.Architecture}}'"
                    + " docker://%s/vm:multi".formatted(registry.host())))
        .isEqualTo("amd64");
    assertThat(
            skopeo(
                "inspect --raw --tls-verify=false docker://%s/vm:multi".formatted(registry.host())))
        .isEqualTo(index);
  }

  @Test
  void bytesWithAnotherDigestAreRefusedAndNotKept() throws IOException {
    Descriptor layer = blobs().getLast().descriptor();
    byte[] changed = Files.readAllBytes(blob(layer));
    changed[100] ^= 1;
    RegistryPush push = registries(Credentials.none()).push(reference("vm")).inChunksOf(1 << 20);
    assertThatThrownBy(() -> push.blob(BlobContent.of(layer, changed), PushProgress.NONE))
        .hasMessageContaining("DIGEST_INVALID");
    assertThat(push.exists(layer)).isFalse();
  }

  @Test
  void anUploadThatIsGivenUpIsDeleted() throws IOException {
    Descriptor layer = blobs().getLast().descriptor();
    var openBefore = new ArrayList<Path>();
    var content =
        new BlobContent(
            layer,
            offset -> {
              if (offset > 0) {
                openBefore.addAll(openUploads());
                throw new IOException("bad sector");
              }
              return Files.newInputStream(blob(layer));
            });
    RegistryPush push = registries(Credentials.none()).push(reference("vm")).inChunksOf(1 << 20);
    assertThatThrownBy(() -> push.blob(content, PushProgress.NONE)).hasMessage("bad sector");
    assertThat(openBefore).hasSize(1);
    assertThat(openUploads()).isEmpty();
  }

  /** What of unfinished uploads is kept; the registry forgets to remove their empty frame. */
  private List<Path> openUploads() throws IOException {
    Path uploads = work.resolve("registry/docker/registry/v2/repositories/vm/_uploads");
    if (!Files.isDirectory(uploads)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(uploads)) {
      return files.filter(file -> file.endsWith("data")).toList();
    }
  }

  @Test
  void anUploadWhoseConnectionDiesIsFinished() throws IOException {
    Descriptor layer = blobs().getLast().descriptor();
    try (var proxy = new CuttingProxy(registry.port(), 1_500_000)) {
      RegistryPush push =
          registries(Credentials.none())
              .push(Reference.parse("127.0.0.1:" + proxy.port() + "/vm"))
              .inChunksOf(500_000);
      push.blob(BlobContent.of(layer, blob(layer)), PushProgress.NONE);
      assertThat(proxy.cuts()).as("connections cut").isPositive();
    }
    RegistryClient client = registries(Credentials.none()).client(reference("vm"));
    try (InputStream in = client.open(layer)) {
      assertThat(in.readAllBytes()).isEqualTo(Files.readAllBytes(blob(layer)));
    }
  }

  @Test
  void aPullWhoseConnectionDiesIsFinished() throws IOException {
    push(registries(Credentials.none()).push(reference("vm")), "v1");
    Descriptor layer = blobs().getLast().descriptor();
    try (var proxy = new CuttingProxy(registry.port(), 1_500_000)) {
      RegistryClient client =
          registries(Credentials.none())
              .client(Reference.parse("127.0.0.1:" + proxy.port() + "/vm"));
      try (InputStream in = client.open(layer)) {
        assertThat(in.readAllBytes()).isEqualTo(Files.readAllBytes(blob(layer)));
      }
      assertThat(proxy.cuts()).as("connections cut").isPositive();
    }
  }

  @Test
  void partsOfWhatSkopeoPushedAreRead() throws IOException {
    skopeo("copy -q --dest-tls-verify=false oci:layout:v1 docker://" + registry.host() + "/vm:v1");
    RegistryClient client = registries(Credentials.none()).client(reference("vm:v1"));
    Descriptor layer = client.resolve().manifest().layers().getFirst();
    byte[] all = Files.readAllBytes(blob(layer));
    try (RangeStream in = client.open(layer, 1_000_000, 70_000)) {
      assertThat(in.isWhole()).isFalse();
      assertThat(in.readAllBytes()).isEqualTo(Arrays.copyOfRange(all, 1_000_000, 1_070_000));
    }
  }

  @Test
  void aPasswordIsUsedForPushing() throws IOException {
    registry.close();
    Files.writeString(work.resolve("htpasswd"), "joe:" + BCRYPT_OF_SECRET + "\n");
    registry =
        new DockerRegistry(
            work, "auth: {htpasswd: {realm: test, path: " + work.resolve("htpasswd") + "}}");
    String json =
        "{\"auths\":{\"%s\":{\"username\":\"joe\",\"password\":\"secret\"}}}"
            .formatted(registry.host());
    Credentials joe = Credentials.parse(json.getBytes(StandardCharsets.UTF_8));
    push(registries(joe).push(reference("vm")).inChunksOf(1 << 20), "v1");
    skopeo("inspect --creds joe:secret --tls-verify=false docker://" + registry.host() + "/vm:v1");
    RegistryPush anonymous = registries(Credentials.none()).push(reference("vm"));
    assertThatThrownBy(() -> push(anonymous, "v2"))
        .isInstanceOfSatisfying(
            RegistryException.class,
            e -> assertThat(e.kind()).isEqualTo(RegistryException.Kind.UNAUTHORIZED));
  }

  /** Docker's registry has no list of referrers: this is the index under a tag. */
  @Test
  void whatIsAttachedToAnImageIsFoundByItsDigest() throws IOException {
    Registries registries = registries(Credentials.none());
    RegistryPush push = registries.push(reference("vm"));
    push(push, "v1");
    RegistryClient client = registries.client(reference("vm:v1"));
    assertThat(client.referrers(image.digest(), null)).isEmpty();

    byte[] note = "boot order".getBytes(StandardCharsets.UTF_8);
    var layer = new Descriptor("text/plain", Digest.of(note), note.length);
    push.blob(BlobContent.of(layer, note), PushProgress.NONE);
    Descriptor one =
        push.attach(image, "application/vnd.platter.test", List.of(layer), Map.of("a", "b"));
    Descriptor two = push.attach(image, "application/vnd.other", List.of(), Map.of());
    push.attach(image, "application/vnd.other", List.of(), Map.of());

    assertThat(client.referrers(image.digest(), null))
        .extracting(found -> found.manifest().digest())
        .containsExactly(one.digest(), two.digest());
    Referrer found = client.referrers(image.digest(), "application/vnd.platter.test").getFirst();
    assertThat(found.manifest().annotations()).containsEntry("a", "b");
    Resolved resolved = client.resolve(found.manifest().digest().toString());
    assertThat(resolved.manifest().layers()).containsExactly(layer);
    try (InputStream in = client.open(layer)) {
      assertThat(in.readAllBytes()).isEqualTo(note);
    }
    assertThat(
            skopeo(
                "inspect --raw --tls-verify=false docker://%s/vm:sha256-%s"
                    .formatted(registry.host(), image.digest().hex())))
        .contains(one.digest().toString(), two.digest().toString());
  }
}
