package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.registry.RegistryException.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Docker's registry with certificates that openssl made, filled by skopeo. */
class TlsTest {
  @TempDir Path work;
  private DockerRegistry registry;
  private Path certificates;

  @BeforeEach
  void makeCertificates() throws IOException {
    DockerRegistry.sh(
        work,
        """
        q() { openssl "$@" 2>openssl.log || { cat openssl.log; exit 1; }; }
        q req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca
        for name in server client; do
          q req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key \
            -out $name.csr -subj /CN=$name
          echo 'subjectAltName=IP:127.0.0.1' > ext
          q x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
            -extfile ext -out $name.crt
        done
        """);
    Path disk = Files.writeString(work.resolve("vm.img"), "disk");
    new OciLayoutWriter(work.resolve("layout")).add("v1", Platform.LINUX_AMD64, "vm.img", disk);
    certificates = Files.createDirectory(work.resolve("certs.d"));
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  /** {@code clientAuthority} is more of the registry's TLS configuration. */
  private Path serve(String clientAuthority) throws IOException {
    registry = new DockerRegistry(work, "", tls(clientAuthority));
    return Files.createDirectory(certificates.resolve(registry.host()));
  }

  private String tls(String clientAuthority) {
    return ", tls: {certificate: %s, key: %s%s}"
        .formatted(work.resolve("server.crt"), work.resolve("server.key"), clientAuthority);
  }

  private void fill(Path host) throws IOException {
    DockerRegistry.sh(
        work,
        "skopeo copy -q --dest-cert-dir %s oci:layout:v1 docker://%s/vm:v1"
            .formatted(host, registry.host()));
  }

  private RegistryClient client(RegistryConfig... configs) {
    var settings =
        new RegistrySettings(List.of(configs), List.of(certificates), AddressPolicy.any(), 4);
    return new Registries(settings, Credentials.none())
        .client(Reference.parse(registry.host() + "/vm:v1"));
  }

  @Test
  void aRegistryWithItsOwnAuthorityIsTrustedByItsFile() throws IOException {
    Path host = serve("");
    Files.copy(work.resolve("ca.crt"), host.resolve("ca.crt"));
    fill(host);
    assertThat(client().resolve().manifest().layers()).hasSize(1);
  }

  /** As the keys of a ConfigMap are, where a directory cannot be mounted. */
  @Test
  void aRegistryWithItsOwnAuthorityIsTrustedByAFileThatHasItsName() throws IOException {
    Path host = serve("");
    Path authority = Files.copy(work.resolve("ca.crt"), host.resolve("ca.crt"));
    fill(host);
    Files.delete(authority);
    Files.delete(host);
    assertThatThrownBy(() -> client().resolve()).hasMessageContaining("http");
    String name = "127.0.0.1_" + registry.port() + ".crt";
    Files.createSymbolicLink(certificates.resolve(name), work.resolve("ca.crt"));
    assertThat(client().resolve().manifest().layers()).hasSize(1);
    assertThatThrownBy(
            () ->
                client(
                        new RegistryConfig(
                            registry.host(),
                            "localhost:" + registry.port(),
                            false,
                            false,
                            List.of()))
                    .resolve())
        .as("another host")
        .isInstanceOf(IOException.class);
  }

  @Test
  void aRegistryOfAnUnknownAuthorityIsRefused() throws IOException {
    serve("");
    assertThatThrownBy(() -> client().resolve())
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.PROTOCOL))
        .hasMessageContaining("no secure connection to https://" + registry.host());
  }

  @ParameterizedTest
  @ValueSource(strings = {"IP:127.0.0.1 -1", "IP:127.0.0.2 2", "DNS:localhost 2"})
  void aCertificateThatIsOverOrOfAnotherNameIsRefused(String certificate) throws IOException {
    var words = certificate.split(" ");
    DockerRegistry.sh(
        work,
        "echo subjectAltName=%s > ext; openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key"
                .formatted(words[0])
            + " -CAcreateserial -days %s -extfile ext -out server.crt 2>&1".formatted(words[1]));
    Path host = serve("");
    Files.copy(work.resolve("ca.crt"), host.resolve("ca.crt"));
    assertThatThrownBy(() -> client().resolve())
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.PROTOCOL))
        .hasMessageContaining("no secure connection to https://" + registry.host());
  }

  @Test
  void anInsecureRegistryNeedNotBeTrusted() throws IOException {
    Path host = serve("");
    Files.copy(work.resolve("ca.crt"), host.resolve("ca.crt"));
    fill(host);
    Files.delete(host.resolve("ca.crt"));
    Files.delete(host);
    // By another name than the certificate has, too.
    RegistryConfig config =
        new RegistryConfig(registry.host(), "localhost:" + registry.port(), true, false, List.of());
    assertThat(client(config).resolve().manifest().layers()).hasSize(1);
  }

  @Test
  void anInsecureRegistryMayHaveNoTlsAtAll() throws IOException {
    servePlainly();
    assertThat(client(RegistryConfig.insecure(registry.host())).resolve().manifest().layers())
        .hasSize(1);
  }

  /** A registry without TLS, with an image. */
  private void servePlainly() throws IOException {
    registry = new DockerRegistry(work, "");
    DockerRegistry.sh(
        work,
        "skopeo copy -q --dest-tls-verify=false oci:layout:v1 docker://%s/vm:v1"
            .formatted(registry.host()));
  }

  @Test
  void anInsecureRegistryThatIsDownAtFirstMayHaveTls() throws IOException {
    servePlainly();
    RegistryClient client = client(RegistryConfig.insecure(registry.host()));
    registry.close();
    assertThatThrownBy(client::resolve)
        .isInstanceOfSatisfying(
            RegistryException.class, e -> assertThat(e.kind()).isEqualTo(Kind.UNAVAILABLE));
    registry.restart(tls(""));
    assertThat(client.resolve().manifest().layers()).hasSize(1);
  }

  @Test
  void anInsecureRegistryMayGetTlsAndLoseIt() throws IOException {
    servePlainly();
    RegistryClient client = client(RegistryConfig.insecure(registry.host()));
    assertThat(client.resolve().manifest().layers()).hasSize(1);
    for (String http : List.of(tls(""), "")) {
      registry.restart(http);
      assertThatThrownBy(client::resolve).isInstanceOf(RegistryException.class);
      assertThat(client.resolve().manifest().layers()).hasSize(1);
    }
  }

  @Test
  void aClientCertificateIsShownToTheHostItIsFor() throws IOException {
    Path host = serve(", clientcas: [" + work.resolve("ca.crt") + "]");
    Files.copy(work.resolve("ca.crt"), host.resolve("ca.crt"));
    assertThatThrownBy(() -> client().resolve()).isInstanceOf(IOException.class);
    Files.copy(work.resolve("client.crt"), host.resolve("client.cert"));
    Files.copy(work.resolve("client.key"), host.resolve("client.key"));
    fill(host);
    assertThat(client().resolve().manifest().layers()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ca.key", "traditional.key", "ca.crt"})
  void aKeyThatDoesNotFitIsSaidToBeSo(String key) throws IOException {
    Path host = serve("");
    DockerRegistry.sh(work, "openssl ec -in client.key -out traditional.key 2>&1");
    Files.copy(work.resolve("client.crt"), host.resolve("client.cert"));
    Files.copy(work.resolve(key), host.resolve("client.key"));
    assertThatThrownBy(() -> client().resolve())
        .hasMessageContaining(host.resolve("client.key").toString());
  }
}
