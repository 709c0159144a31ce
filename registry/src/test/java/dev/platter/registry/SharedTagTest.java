package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Digest;
import dev.platter.image.oci.Layer;
import dev.platter.image.oci.MediaTypes;
import dev.platter.image.oci.NewImage;
import dev.platter.image.oci.Platform;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
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

  @Test
  void appendingAnImageTwiceChangesNothing() throws IOException {
    NewImage amd = pushBlobs("linux/amd64", "amd");
    Descriptor first = push.append(amd, "v1");
    assertThat(push.append(amd, "v1")).isEqualTo(first);
  }
}
