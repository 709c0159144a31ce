package dev.platter.image.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a tag names after an image was added; real tools see the same in the registry's tests. */
class PlatformIndexTest {
  private static final String A = "sha256:" + "a".repeat(64);
  private static final String B = "sha256:" + "b".repeat(64);
  private static final NewImage ARM = image("linux/arm64");

  private static NewImage image(String platform) {
    Digest digest = Digest.of(platform.getBytes(StandardCharsets.UTF_8));
    return new NewImage(
        Platform.of(platform),
        new Layer(new Descriptor(MediaTypes.OCI_LAYER_GZIP, digest, 1), digest));
  }

  private static JsonNode append(String current, NewImage image) throws IOException {
    byte[] bytes = current.getBytes(StandardCharsets.UTF_8);
    byte[] index = PlatformIndex.append(bytes, image, ignored -> image("linux/amd64").config());
    assertThat(Document.parse(index)).isInstanceOf(Index.class);
    return Json.MAPPER.readTree(index);
  }

  private static List<String> digests(JsonNode index) {
    List<String> digests = new ArrayList<>();
    index.get("manifests").forEach(entry -> digests.add(entry.get("digest").asText()));
    return digests;
  }

  private static String entry(String digest, String more) {
    return "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":7,%s}"
        .formatted(MediaTypes.DOCKER_MANIFEST, digest, more);
  }

  @Test
  void whatOthersWroteIntoAnIndexStays() throws IOException {
    String kept =
        entry(A, "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\",\"os.version\":\"1\"}");
    JsonNode index =
        append(
            "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"manifests\":[%s],\"annotations\":{\"x\":\"y\"}}"
                .formatted(MediaTypes.DOCKER_LIST, kept),
            ARM);
    assertThat(index.get("manifests").get(0)).isEqualTo(Json.MAPPER.readTree(kept));
    assertThat(index.at("/annotations/x").asText()).isEqualTo("y");
    assertThat(index.get("mediaType").asText()).isEqualTo(MediaTypes.OCI_INDEX);
    assertThat(digests(index)).containsExactly(A, ARM.manifestDescriptor().digest().toString());
  }

  @Test
  void attestationsGoWithTheImageThatTheyAreAbout() throws IOException {
    String about = "\"annotations\":{\"vnd.docker.reference.digest\":\"%s\"}";
    String index =
        "{\"manifests\":[%s,%s,%s]}"
            .formatted(
                entry(A, "\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\"}"),
                entry(B, about.formatted(A)),
                entry("sha256:" + "c".repeat(64), about.formatted(B)));
    assertThat(digests(append(index, ARM)))
        .containsExactly("sha256:" + "c".repeat(64), ARM.manifestDescriptor().digest().toString());
  }

  @ParameterizedTest
  @CsvSource({
    "linux/arm64, linux/arm64/v8, true",
    "linux/arm64/v8, linux/arm64, true",
    "linux/arm/v7, linux/arm, true",
    "linux/arm/v6, linux/arm, false",
    "linux/arm64, linux/amd64, false",
    "windows/amd64, linux/amd64, false",
  })
  void onlyTheImageOfTheSamePlatformIsReplaced(String first, String second, boolean replaced)
      throws IOException {
    JsonNode index = append("{\"manifests\":[]}", image(first));
    assertThat(append(index.toString(), image(second)).get("manifests").size())
        .isEqualTo(replaced ? 1 : 2);
  }

  @Test
  void aSingleImageKeepsItsPlaceUnderThePlatformOfItsConfig() throws IOException {
    NewImage amd = image("linux/amd64");
    JsonNode index = append(new String(amd.manifest(), StandardCharsets.UTF_8), ARM);
    assertThat(digests(index))
        .containsExactly(
            amd.manifestDescriptor().digest().toString(),
            ARM.manifestDescriptor().digest().toString());
    assertThat(index.at("/manifests/0/platform/architecture").asText()).isEqualTo("amd64");
    assertThat(digests(append(new String(amd.manifest(), StandardCharsets.UTF_8), amd)))
        .containsExactly(amd.manifestDescriptor().digest().toString());
  }

  @Test
  void whatIsNeitherImageNorIndexIsRefused() {
    assertThatThrownBy(() -> append("{\"manifests\":7}", ARM))
        .isInstanceOf(BadImageException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "linux", "linux/", "/amd64", "linux/amd64/", "Linux/amd64", "a/b/c/d"})
  void whatIsNoPlatformIsRefused(String text) {
    assertThatThrownBy(() -> Platform.of(text)).hasMessageContaining("is no platform");
  }
}
