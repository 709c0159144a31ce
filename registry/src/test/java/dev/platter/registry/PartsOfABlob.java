package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A blob in a registry that answers as the test says, and ways to read parts of it. */
abstract class PartsOfABlob {
  static final byte[] BLOB = random(100_000);
  static final Descriptor DESCRIPTOR = new Descriptor("t", Digest.of(BLOB), BLOB.length);
  static final String PATH = "/v2/vm/blobs/" + DESCRIPTOR.digest();
  static final String LOGIN = "Basic am9lOmh1bnRlcjI="; // joe:hunter2

  FakeRegistry registry;
  FakeRegistry other;

  static byte[] random(int length) {
    byte[] bytes = new byte[length];
    new Random(5).nextBytes(bytes);
    return bytes;
  }

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

  RegistryClient client() throws IOException {
    String json =
        "{\"auths\":{\"%s\":{\"username\":\"joe\",\"password\":\"hunter2\"}}}"
            .formatted(registry.host());
    Credentials joe = Credentials.parse(json.getBytes(StandardCharsets.UTF_8));
    return FakeRegistry.eager(RegistrySettings.defaults(), joe).client(registry.image());
  }

  static byte[] slice(int from, int length) {
    return Arrays.copyOfRange(BLOB, from, from + length);
  }

  static byte[] read(RegistryClient client, long from, long length) throws IOException {
    try (RangeStream in = client.open(DESCRIPTOR, from, length)) {
      return in.readAllBytes();
    }
  }

  static byte[] readAll(RegistryClient client) throws IOException {
    try (InputStream in = client.open(DESCRIPTOR)) {
      return in.readAllBytes();
    }
  }
}
