package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * A registry that answers as the test says, another server, and our client as anybody and as joe.
 */
abstract class AgainstFakeRegistry {
  static final String MANIFEST = "/v2/vm/manifests/v1";
  static final byte[] BLOB = "0123456789".getBytes(StandardCharsets.UTF_8);
  static final Descriptor DESCRIPTOR = new Descriptor("t", Digest.of(BLOB), BLOB.length);
  static final String BLOB_PATH = "/v2/vm/blobs/" + DESCRIPTOR.digest();
  static final String IMAGE =
      "{\"schemaVersion\":2,\"config\":%1$s,\"layers\":[%1$s]}"
          .formatted(
              "{\"mediaType\":\"t\",\"digest\":\"" + DESCRIPTOR.digest() + "\",\"size\":10}");
  static final String LOGIN = "Basic am9lOmh1bnRlcjI="; // joe:hunter2

  FakeRegistry registry;
  FakeRegistry other;

  @BeforeEach
  void start() throws IOException {
    registry = new FakeRegistry();
    other = new FakeRegistry();
  }

  @AfterEach
  void stop() {
    registry.close();
    other.close();
  }

  RegistryClient client(Credentials credentials) {
    return client(registry.image(), credentials);
  }

  static RegistryClient client(Reference image, Credentials credentials) {
    return FakeRegistry.impatient(RegistrySettings.defaults(), credentials).client(image);
  }

  RegistryClient anonymous() {
    return client(Credentials.none());
  }

  RegistryClient joe() throws IOException {
    String json =
        "{\"auths\":{\"%s\":{\"username\":\"joe\",\"password\":\"hunter2\"}}}"
            .formatted(registry.host());
    return client(Credentials.parse(json.getBytes(StandardCharsets.UTF_8)));
  }

  static byte[] read(RegistryClient client) throws IOException {
    try (InputStream in = client.open(DESCRIPTOR)) {
      return in.readAllBytes();
    }
  }

  static void assertFails(Kind kind, String why, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(RegistryException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContaining(why)
        .message()
        .doesNotContain("hunter2", "am9lOmh1bnRlcjI", "SECRET");
  }
}
