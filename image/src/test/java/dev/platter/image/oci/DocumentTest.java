package dev.platter.image.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class DocumentTest {
  private static final String HEX = "ab".repeat(32);
  private static final String BLOB =
      "{\"mediaType\":\"t\",\"digest\":\"sha256:" + HEX + "\",\"size\":1}";
  private static final String MANIFEST =
      "{\"schemaVersion\":2,\"config\":" + BLOB + ",\"layers\":[" + BLOB + "]}";

  private static Document parse(String json) throws BadImageException {
    return Document.parse(json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void aManifestIsKnownByItsContent() throws BadImageException {
    assertThat(parse(MANIFEST)).isInstanceOf(Manifest.class);
    assertThat(parse("{\"schemaVersion\":2,\"manifests\":[" + BLOB + "]}"))
        .isEqualTo(new Index(List.of(new Descriptor("t", Digest.ofHex(HEX), 1))));
  }

  static List<List<String>> broken() {
    return List.of(
        List.of("[]", "not a JSON object"),
        List.of("{", "not valid JSON"),
        List.of(MANIFEST + "x", "not valid JSON"),
        List.of(MANIFEST.replace("{\"schema", "{\"layers\":[],\"schema"), "not valid JSON"),
        List.of("{\"schemaVersion\":1}", "schema 1"),
        List.of("{\"schemaVersion\":2}", "no object 'config'"),
        List.of(MANIFEST.replace("\"layers\"", "\"layer\""), "no list 'layers'"),
        List.of(MANIFEST.replace("\"layers\"", "\"manifests\":[],\"layers\""), "index and as an"),
        List.of(MANIFEST.replace(":1}", ":-1}"), "'size' is negative"),
        List.of(MANIFEST.replace(":1}", ":1.5}"), "not a whole number"),
        List.of(MANIFEST.replace(":1}", ":99999999999999999999}"), "not a whole number"),
        List.of(MANIFEST.replace("sha256:", "sha512:"), "is no digest"),
        List.of(MANIFEST.replace("sha256:ab", "sha256:/.."), "is no digest"),
        List.of(MANIFEST.replace("sha256:ab", "sha256:AB"), "is no digest"),
        List.of(MANIFEST.replace("\"t\"", "7"), "'mediaType' is not a string"),
        List.of(
            MANIFEST.replace("\"config\"", "\"mediaType\":\"text/html\",\"config\""),
            "unknown type text/html"),
        List.of("{\"a\":".repeat(100) + "1" + "}".repeat(100), "not valid JSON"));
  }

  @ParameterizedTest
  @MethodSource("broken")
  void whatIsNoManifestIsRefused(List<String> jsonAndWhy) {
    assertThatThrownBy(() -> parse(jsonAndWhy.getFirst()))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(jsonAndWhy.getLast());
  }

  @Test
  void aManifestOfMoreThanFourMebibytesIsRefused() {
    String padded = MANIFEST + " ".repeat(4 << 20);
    assertThatThrownBy(() -> parse(padded)).hasMessageContaining("more than the limit of 4194304");
  }

  @Test
  void foreignUrlsAreIgnored() throws BadImageException {
    String json = MANIFEST.replace(":1}", ":1,\"urls\":[\"http://169.254.169.254/\"]}");
    assertThat(parse(json)).isEqualTo(parse(MANIFEST));
  }

  private static Descriptor image(String platform, int n) {
    String[] parts = platform.split("/");
    return new Descriptor(
        MediaTypes.OCI_MANIFEST,
        Digest.ofHex(HEX),
        n,
        Map.of(),
        platform.equals("-") ? null : new Platform(parts[0], parts[1]));
  }

  /** The size tells which entry was taken. */
  @ParameterizedTest
  @CsvSource({
    "linux/arm64 linux/amd64, 1",
    "linux/amd64 linux/amd64, 0",
    "linux/arm64 -, 1",
    "-, 0",
    "windows/amd64, 0",
    "windows/amd64 linux/arm64, 0",
    "unknown/unknown -, 1",
  })
  void theFittingImageIsTaken(String platforms, long chosen) throws BadImageException {
    assertThat(index(platforms).select(Platform.LINUX_AMD64).size()).isEqualTo(chosen);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"linux/arm64", "- -", "windows/amd64 freebsd/amd64", "linux/arm64 linux/s390x"})
  void anImageThatDoesNotFitIsNotTaken(String platforms) {
    assertThatThrownBy(() -> index(platforms).select(Platform.LINUX_AMD64))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("no image for linux/amd64; it has [");
  }

  private static Index index(String platforms) {
    String[] each = platforms.split(" ");
    return new Index(
        java.util.stream.IntStream.range(0, each.length).mapToObj(i -> image(each[i], i)).toList());
  }

  @Test
  void anIndexThatContainsItselfEnds() {
    String index =
        "{\"manifests\":[" + BLOB.replace("\"t\"", "\"" + MediaTypes.OCI_INDEX + "\"") + "]}";
    byte[] bytes = index.getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> Resolved.follow(bytes, Platform.LINUX_AMD64, ignored -> bytes))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("index of indexes");
  }

  @Test
  void theLastByteIsHeldBackUntilAllAreVerified() throws IOException {
    byte[] bytes = {1, 2, 3};
    var wrong = new Descriptor("t", Digest.of(new byte[] {1, 2, 4}), 3);
    var stream = new VerifyingInputStream(new java.io.ByteArrayInputStream(bytes), wrong);
    assertThat(stream.readNBytes(2)).containsExactly(1, 2);
    assertThatThrownBy(stream::read).isInstanceOf(BadImageException.class);
    assertThatThrownBy(stream::read).isInstanceOf(BadImageException.class);
  }
}
