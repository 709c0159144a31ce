package dev.platter.registry;

import static dev.platter.registry.FakeRegistry.bytes;
import static dev.platter.registry.FakeRegistry.status;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.registry.RegistryConfig.Mirror;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RegistrySettingsTest {
  private static final byte[] BLOB = "0123456789".getBytes(StandardCharsets.UTF_8);
  private static final Descriptor DESCRIPTOR = new Descriptor("t", Digest.of(BLOB), BLOB.length);

  private static final String CONF =
      """
      # what podman reads
      unqualified-search-registries = ["docker.io",
        "quay.io"]
      short-name-mode = "enforcing"

      [[registry]]
      prefix = "example.com/disks"
      location = 'internal.example.com:5000/d' # a comment
      [[registry.mirror]]
      location = "mirror.example.com/#1"
      [[registry.mirror]]
      location = "other.example.com"
      insecure = true

      [[registry]]
      location = "localhost:5000"
      insecure = true
      blocked = true

      [aliases]
      "debian" = "docker.io/library/debian"
      """;

  @TempDir Path home;
  private FakeRegistry mirror;
  private FakeRegistry origin;

  @BeforeEach
  void start() throws IOException {
    mirror = new FakeRegistry();
    origin = new FakeRegistry();
  }

  @AfterEach
  void stop() {
    mirror.close();
    origin.close();
  }

  @Test
  void registriesConfIsRead() throws IOException {
    assertThat(RegistriesConf.parse(CONF.replace("/#1", "/one"), "conf"))
        .containsExactly(
            new RegistryConfig(
                "example.com/disks",
                "internal.example.com:5000/d",
                false,
                false,
                List.of(
                    new Mirror("mirror.example.com/one", false),
                    new Mirror("other.example.com", true))),
            new RegistryConfig("localhost:5000", "localhost:5000", true, true, List.of()));
  }

  @Test
  void aHashInAStringIsNoComment() {
    assertThatThrownBy(() -> RegistriesConf.parse(CONF, "conf"))
        .hasMessageContaining("mirror.example.com/#1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[[registry]];location = \"a.io\";wild = true | conf, line 3: 'wild' is not supported",
        "[[registry]];location = a.io | conf, line 2: 'location' must be a string",
        "[[registry]];location = \"a.io\";insecure = \"true\" | line 3: 'insecure' must be true or",
        "[[registry]];insecure = true | conf, line 1: there is no 'location'",
        "[[registry]];location = \"*.io\" | line 1: '*.io/x' is not an image reference",
        "[[registry]];location = \"disks\" | line 1: 'disks' does not begin with a host",
        "[[registry.mirror]];location = \"a.io\" | line 1: a mirror stands before the registry",
        "[[registry]];location = \"a.io\";location = \"b.io\" | line 3: 'location' is there twice",
        "[[registry]];location = \"a.io\";[[registry]];location = \"a.io\" | line 3: there is a",
        "[[registry]];location | line 2: expected 'key = value'",
        "[registries.insecure] | line 1: this is the old form",
      })
  void whatIsWrongIsSaidWithItsLine(String conf, String why) {
    assertThatThrownBy(() -> RegistriesConf.parse(conf.replace(';', '\n'), "conf"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining(why);
  }

  @Test
  void theFilesOfThisUserAreFound() throws IOException {
    Path conf = home.resolve(".config/containers/registries.conf");
    Files.createDirectories(conf.getParent());
    Files.writeString(conf, "[[registry]]\nlocation = \"a.io\"\nblocked = true\n");
    RegistrySettings settings = RegistrySettings.fromEnvironment(Map.of("HOME", home.toString()));
    assertThat(settings.registries()).extracting(RegistryConfig::prefix).containsExactly("a.io");
    assertThat(settings.certificates()).contains(home.resolve(".config/containers/certs.d"));
    assertThat(
            RegistrySettings.fromEnvironment(
                    Map.of("HOME", home.toString(), "PLATTER_CERTIFICATES", "/etc/platter-images"))
                .certificates())
        .startsWith(Path.of("/etc/platter-images"))
        .containsAll(settings.certificates());
  }

  @ParameterizedTest
  @CsvSource({
    "example.com/disks/vm:v1, internal.example.com:5000/d/vm:v1",
    "example.com/disks:v1, internal.example.com:5000/d:v1",
    "example.com/disks2/vm:v1, example.com/disks2/vm:v1",
    "example.com/other:v1, example.com/other:v1",
  })
  void aPrefixIsReplacedByItsLocation(String image, String place) throws IOException {
    RegistrySettings settings = settings(RegistriesConf.parse(CONF.replace("/#1", ""), "conf"));
    assertThat(settings.places(Reference.parse(image)).getLast()).hasToString(place);
  }

  private static RegistrySettings settings(List<RegistryConfig> registries) {
    return new RegistrySettings(registries, List.of(), AddressPolicy.any(), 4);
  }

  @Test
  void aBlockedRegistryIsNotAsked() throws IOException {
    Registries registries =
        FakeRegistry.eager(
            settings(
                List.of(new RegistryConfig(origin.host(), origin.host(), true, true, List.of()))),
            Credentials.none());
    assertThatThrownBy(() -> registries.client(origin.image()).resolve())
        .hasMessageContaining("registries.conf blocks " + origin.host());
    assertThatThrownBy(() -> registries.push(origin.image())).hasMessageContaining("blocks");
    assertThat(origin.requests).isEmpty();
  }

  private RegistryClient mirrored() {
    var config =
        new RegistryConfig(
            origin.host(),
            origin.host(),
            false,
            false,
            List.of(new Mirror(mirror.host() + "/copies", false)));
    return FakeRegistry.eager(settings(List.of(config)), Credentials.none()).client(origin.image());
  }

  private static byte[] read(RegistryClient client) throws IOException {
    try (var in = client.open(DESCRIPTOR)) {
      return in.readAllBytes();
    }
  }

  @Test
  void aMirrorIsAskedFirst() throws IOException {
    mirror.on("/v2/copies/vm/blobs/" + DESCRIPTOR.digest(), bytes(BLOB));
    assertThat(read(mirrored())).isEqualTo(BLOB);
    assertThat(origin.requests).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"404", "403", "401", "503", "400"})
  void whatAMirrorDoesNotHaveComesFromTheOrigin(int status) throws IOException {
    mirror.on("/v2/copies/vm/blobs/" + DESCRIPTOR.digest(), status(status));
    origin.on("/v2/vm/blobs/" + DESCRIPTOR.digest(), bytes(BLOB));
    assertThat(read(mirrored())).isEqualTo(BLOB);
  }

  @Test
  void theErrorOfTheOriginIsTheOneThatIsShown() {
    mirror.on("/v2/copies/vm/blobs/" + DESCRIPTOR.digest(), status(403));
    assertThatThrownBy(() -> read(mirrored()))
        .isInstanceOfSatisfying(
            RegistryException.class,
            e -> assertThat(e.kind()).isEqualTo(RegistryException.Kind.NOT_FOUND))
        .hasMessageContaining(origin.host());
  }

  @Test
  void plainHttpElsewhereNeedsTheOperatorsWord() throws IOException {
    var hosts = new Hosts(settings(List.of(RegistryConfig.insecure("r.example.com:5000"))), false);
    hosts.requireSafe(URI.create("http://r.example.com:5000/v2/"));
    for (String uri :
        List.of("http://r.example.com/v2/", "http://r.example.com:5001/", "http://x.io/")) {
      assertThatThrownBy(() -> hosts.requireSafe(URI.create(uri)))
          .hasMessageContaining("refused to go to");
    }
  }

  /** Whoever is between us and a registry must not be able to turn TLS off by keeping still. */
  @Test
  void aRegistryThatIsSlowToSpeakTlsIsNotSpokenToWithoutIt() throws IOException {
    try (var silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      String host = "127.0.0.1:" + silent.getLocalPort();
      RegistrySettings settings = settings(List.of(RegistryConfig.insecure(host)));
      RegistryClient client =
          FakeRegistry.impatient(settings, Credentials.none())
              .client(Reference.parse(host + "/vm:v1"));
      assertThatThrownBy(client::resolve)
          .isInstanceOfSatisfying(
              RegistryException.class,
              e -> assertThat(e.kind()).isEqualTo(RegistryException.Kind.UNAVAILABLE))
          .hasMessageContaining("cannot reach https://" + host);
    }
  }
}
