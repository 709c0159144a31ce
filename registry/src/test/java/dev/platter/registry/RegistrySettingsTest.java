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
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
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
  void whatPodmanKnowsAndIsOfNoMeaningHereIsPassedOver() throws IOException {
    String conf =
        """
        [[registry]]
        location = "a.io"
        unqualified-search-registries = [ # many write it at the end
          "docker.io",
          "quay.io"]
        short-name-mode = "permissive"
        credential-helpers = ["containers-auth.json"]
        blocked = true
        """;
    assertThat(RegistriesConf.parse(conf, "conf"))
        .containsExactly(new RegistryConfig("a.io", "a.io", false, true, List.of()));
  }

  private static final String STARS =
      """
      [[registry]]
      prefix = "*.example.com"
      insecure = true
      [[registry.mirror]]
      location = "mirror.io/all"

      [[registry]]
      prefix = "*.no.example.com"
      blocked = true

      [[registry]]
      prefix = "*.moved.com"
      location = "here.io:5000/them"

      [[registry]]
      location = "known.example.com"
      """;

  @ParameterizedTest
  @CsvSource({
    "a.example.com/vm:v1, mirror.io/all/vm:v1 a.example.com/vm:v1",
    "b.a.example.com:5000/vm:v1, mirror.io/all/vm:v1 b.a.example.com:5000/vm:v1",
    "example.com/vm:v1, example.com/vm:v1",
    "an-example.com/vm:v1, an-example.com/vm:v1",
    "known.example.com/vm:v1, known.example.com/vm:v1",
    "a.moved.com/vm:v1, here.io:5000/them/vm:v1",
  })
  void aStarStandsForHosts(String image, String places) throws IOException {
    RegistrySettings settings = settings(RegistriesConf.parse(STARS, "conf"));
    assertThat(settings.places(Reference.parse(image)))
        .extracting(Reference::toString)
        .containsExactly(places.split(" "));
  }

  @Test
  void whatIsSaidOfAStarHoldsForItsHosts() throws IOException {
    RegistrySettings settings = settings(RegistriesConf.parse(STARS, "conf"));
    assertThat(settings.isInsecure("a.example.com")).isTrue();
    assertThat(settings.isInsecure("a.example.com:5000")).isTrue();
    assertThat(settings.isInsecure("known.example.com")).as("it has a word of its own").isFalse();
    assertThat(settings.isInsecure("a.no.example.com")).as("a longer star has it").isFalse();
    assertThat(settings.isInsecure("example.com")).isFalse();
    assertThat(settings.isInsecure("a.example.com.evil.io")).isFalse();
    assertThatThrownBy(() -> settings.places(Reference.parse("a.no.example.com/vm")))
        .hasMessageContaining("registries.conf blocks *.no.example.com");
  }

  @ParameterizedTest
  @CsvSource({
    "false, all, true, true",
    "false, '', true, true",
    "false, digest-only, false, true",
    "false, tag-only, true, false",
    "true, , false, true",
  })
  void aMirrorMayBeForDigestsOrForTags(
      boolean all, @Nullable String pull, boolean tags, boolean digests) throws IOException {
    String conf =
        """
        [[registry]]
        location = "a.io"
        mirror-by-digest-only = %s
        [[registry.mirror]]
        location = "mirror.io"
        %s
        """
            .formatted(all, pull == null ? "" : "pull-from-mirror = '" + pull + "'");
    RegistrySettings settings = settings(RegistriesConf.parse(conf, "conf"));
    assertThat(settings.places(Reference.parse("a.io/vm:v1"))).hasSize(tags ? 2 : 1);
    assertThat(settings.places(Reference.parse("a.io/vm@" + DESCRIPTOR.digest())))
        .hasSize(digests ? 2 : 1);
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
        "[[registry]];prefix = \"*.a.io/x\" | line 1: '*.a.io/x' has more than *. and a host",
        "[[registry]];prefix = \"a.*.io\";location = \"a.io\" | line 1: 'a.*.io/x' is not an image",
        "[[registry]];location = \"a.io\";mirror-by-digest-only = 1 | line 3: 'mirror-by-digest-only'",
        "[[registry]];location = \"a.io\";[[registry.mirror]];location=\"b.io\";pull-from-mirror=\"x\""
            + "| line 3: 'pull-from-mirror' must be all, digest-only or tag-only",
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

  private void blocked(String file, boolean blocked, String... hosts) throws IOException {
    Path path = home.resolve(file);
    Files.createDirectories(path.getParent());
    for (String host : hosts) {
      Files.writeString(
          path,
          "[[registry]]\nlocation = \"%s\"\nblocked = %s\n".formatted(host, blocked),
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }

  /** What skopeo calls blocked, of four registries. */
  private List<String> blockedForSkopeo() throws IOException {
    return List.of(
        DockerRegistry.sh(
                home,
                """
                for host in a b c d; do
                  env -i PATH=$PATH HOME=%s skopeo inspect --raw docker://$host.invalid/x/y:1 2>&1 |
                    grep -q 'is blocked' && echo $host.invalid
                done || true
                """
                    .formatted(home))
            .strip()
            .split("\n"));
  }

  @Test
  void filesBesideTheFileHaveTheLastWordAsForSkopeo() throws IOException {
    String directory = ".config/containers/registries.conf.d/";
    blocked(directory + "2.conf", false, "b.invalid");
    blocked(directory + "1.conf", true, "b.invalid", "c.invalid");
    blocked(directory + "3.txt", true, "d.invalid");
    assertThat(blockedForUs()).containsExactlyElementsOf(blockedForSkopeo());
    blocked(".config/containers/registries.conf", true, "a.invalid", "b.invalid");
    assertThat(blockedForUs())
        .containsExactly("a.invalid", "c.invalid")
        .containsExactlyElementsOf(blockedForSkopeo());
  }

  private List<String> blockedForUs() throws IOException {
    return RegistrySettings.fromEnvironment(Map.of("HOME", home.toString())).registries().stream()
        .filter(RegistryConfig::blocked)
        .map(RegistryConfig::prefix)
        .filter(prefix -> prefix.endsWith(".invalid"))
        .sorted()
        .toList();
  }

  @Test
  void theUsersSettingsMayBeElsewhere() throws IOException {
    blocked("conf/containers/registries.conf", true, "a.invalid");
    blocked(".config/containers/registries.conf", true, "b.invalid");
    RegistrySettings settings =
        RegistrySettings.fromEnvironment(
            Map.of("HOME", home.toString(), "XDG_CONFIG_HOME", home.resolve("conf").toString()));
    assertThat(settings.registries())
        .extracting(RegistryConfig::prefix)
        .containsExactly("a.invalid");
    assertThat(settings.certificates()).contains(home.resolve("conf/containers/certs.d"));
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

  /** It has TLS, of a kind that we do not have. */
  @Test
  void aRegistryThatRefusesOurTlsIsNotSpokenToWithoutIt() throws IOException {
    byte[] alert = {21, 3, 3, 0, 2, 2, 40};
    try (var server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> answerAll(server, alert));
      String host = "127.0.0.1:" + server.getLocalPort();
      RegistryClient client =
          FakeRegistry.impatient(
                  settings(List.of(RegistryConfig.insecure(host))), Credentials.none())
              .client(Reference.parse(host + "/vm:v1"));
      assertThatThrownBy(client::resolve).hasMessageContaining("cannot reach https://" + host);
    }
  }

  private static void answerAll(ServerSocket server, byte[] answer) {
    while (!server.isClosed()) {
      try (var client = server.accept()) {
        int _ = client.getInputStream().read(new byte[4096]);
        client.getOutputStream().write(answer);
      } catch (IOException e) {
        // The next one may do better, and there is none when the server is closed.
      }
    }
  }
}
