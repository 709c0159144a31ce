package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.NewImage;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.PlatformIndex;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images for several platforms under one tag of Docker's own registry, as skopeo sees them. */
class SharedTagTest {
  @TempDir Path work;
  private DockerRegistry registry;
  private RegistryPush push;

  @BeforeEach
  void start() throws IOException {
    registry = new DockerRegistry(work, "");
    push =
        new Registries(RegistrySettings.defaults(), Credentials.none())
            .push(Reference.parse(registry.host() + "/vm:v1"));
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  private NewImage pushBlobs(String platform, String content) throws IOException {
    byte[] tar = content.getBytes(StandardCharsets.UTF_8);
    var blob = new Descriptor(MediaTypes.OCI_LAYER_GZIP, Digest.of(tar), tar.length);
    var image = new NewImage(Platform.of(platform), new Layer(blob, Digest.of(tar)));
    push.blobs(image, offset -> new ByteArrayInputStream(tar), PushProgress.NONE);
    return image;
  }

  private String skopeo(String arguments) throws IOException {
    return DockerRegistry.sh(
            work, "skopeo %s docker://%s/vm:v1".formatted(arguments, registry.host()))
        .strip();
  }

  private String digestFor(String architecture) throws IOException {
    return skopeo(
        "--override-os linux --override-arch %s inspect --tls-verify=false --format {{.Digest}}"
            .formatted(architecture));
  }

  private List<String> layerFor(String architecture) throws IOException {
    return List.of(
        skopeo(
            "--override-os linux --override-arch %s inspect --tls-verify=false --format {{.Layers}}"
                .formatted(architecture)));
  }

  private static List<String> layers(NewImage image) {
    return List.of("[" + image.layer().descriptor().digest() + "]");
  }

  private String raw() throws IOException {
    return skopeo("inspect --raw --tls-verify=false");
  }

  @Test
  void aSingleImageBecomesAnIndexOfTwo() throws IOException {
    NewImage amd = pushBlobs("linux/amd64", "amd");
    NewImage arm = pushBlobs("linux/arm64/v8", "arm");
    push.manifest(amd.manifest(), "v1");
    assertThat(digestFor("amd64")).isEqualTo(amd.manifestDescriptor().digest().toString());
    Descriptor index = push.append(arm, "v1");
    assertThat(index.mediaType()).isEqualTo(MediaTypes.OCI_INDEX);
    assertThat(Digest.of(raw().getBytes(StandardCharsets.UTF_8))).isEqualTo(index.digest());
    assertThat(layerFor("amd64")).isEqualTo(layers(amd));
    assertThat(layerFor("arm64")).isEqualTo(layers(arm));
    assertThat(raw()).contains("\"variant\":\"v8\"");
  }

  @Test
  void aTagThatIsNotThereBecomesAnIndexOfOne() throws IOException {
    NewImage amd = pushBlobs("linux/amd64", "amd");
    push.append(amd, "v1");
    assertThat(layerFor("amd64")).isEqualTo(layers(amd));
    assertThat(raw()).contains(MediaTypes.OCI_INDEX);
  }

  @Test
  void theImageForTheSamePlatformIsReplacedAndTheOthersStay() throws IOException {
    NewImage amd = pushBlobs("linux/amd64", "amd");
    NewImage arm = pushBlobs("linux/arm64", "arm");
    NewImage newArm = pushBlobs("linux/arm64/v8", "newer arm");
    push.append(amd, "v1");
    push.append(arm, "v1");
    push.append(newArm, "v1");
    assertThat(layerFor("arm64")).isEqualTo(layers(newArm));
    assertThat(layerFor("amd64")).isEqualTo(layers(amd));
    assertThat(raw()).doesNotContain(arm.manifestDescriptor().digest().toString());
  }

  /** What another machine does between our look at the tag and our write. */
  @Test
  void anImageThatAnotherMachineOverwroteIsAddedAgain() throws IOException {
    NewImage arm = pushBlobs("linux/arm64", "arm");
    byte[] others = PlatformIndex.append(null, pushBlobs("linux/amd64", "amd"), _ -> new byte[0]);
    byte[] both = PlatformIndex.append(others, arm, _ -> new byte[0]);
    var puts = new AtomicInteger();
    try (var fake = new FakeRegistry()) {
      for (byte[] document : new byte[][] {arm.manifest(), both}) {
        String path = "/v2/vm/manifests/" + Digest.of(document);
        fake.on(path, e -> status(e.getRequestMethod().equals("PUT") ? 201 : 200).to(e));
      }
      fake.on(
          "/v2/vm/manifests/v1",
          exchange -> {
            if (exchange.getRequestMethod().equals("PUT")) {
              assertThat(exchange.getRequestBody().readAllBytes()).isEqualTo(both);
              puts.incrementAndGet();
              status(201).to(exchange);
            } else {
              bytes(puts.get() < 2 ? others : both).to(exchange);
            }
          });
      Descriptor index =
          FakeRegistry.eager(RegistrySettings.defaults(), Credentials.none())
              .push(fake.image())
              .append(arm, "v1");
      assertThat(index.digest()).isEqualTo(Digest.of(both));
      assertThat(puts).hasValue(2);
    }
  }

  @Test
  void appendingAnImageTwiceChangesNothing() throws IOException {
    NewImage amd = pushBlobs("linux/amd64", "amd");
    Descriptor first = push.append(amd, "v1");
    assertThat(push.append(amd, "v1")).isEqualTo(first);
  }
}
