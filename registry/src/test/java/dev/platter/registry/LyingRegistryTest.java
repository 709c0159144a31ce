package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static dev.platter.registry.FakeRegistry.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.MediaTypes;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Registries that do not give what was asked for. */
class LyingRegistryTest extends AgainstFakeRegistry {
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
