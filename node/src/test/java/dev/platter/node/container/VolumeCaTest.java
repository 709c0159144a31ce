package dev.platter.node.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What OpenSSL thinks of the certificates. */
class VolumeCaTest {
  @TempDir Path work;
  private VolumeFiles files = new VolumeFiles(Path.of("/"));

  @BeforeEach
  void issue() throws IOException {
    files = new VolumeFiles(work);
    VolumeCa.issue("volume", files);
  }

  private Shell.Result verify(String address, Path authority) {
    return Shell.shell()
        .execute(
            "openssl",
            "verify",
            "-x509_strict",
            "-purpose",
            "sslserver",
            "-verify_ip",
            address,
            "-CAfile",
            authority,
            files.certificate());
  }

  @Test
  void opensslVerifiesTheServiceOnTheLoopbackAddressAlone() {
    assertThat(verify("127.0.0.1", files.ca()).output()).endsWith("tls.crt: OK\n");
    assertThat(verify("127.0.0.2", files.ca()).output()).contains("IP address mismatch");
  }

  @Test
  void anotherVolumesAuthorityDoesNotVouchForIt() throws IOException {
    var other = new VolumeFiles(work.resolve("other"));
    java.nio.file.Files.createDirectory(other.directory());
    VolumeCa.issue("other", other);
    assertThat(verify("127.0.0.1", other.ca()).status()).isNotZero();
  }

  @Test
  void theServerCannotSignForOthersAndTheAuthorityCannotHaveAuthoritiesBelow() {
    assertThat(text(files.certificate())).contains("CA:FALSE").doesNotContain("Certificate Sign");
    assertThat(text(files.ca())).contains("CA:TRUE, pathlen:0").contains("Certificate Sign");
    assertThat(text(files.ca())).contains("Not After : Dec 31 23:59:59 9999 GMT");
  }

  private static String text(Path certificate) {
    return Shell.run("openssl", "x509", "-in", certificate, "-noout", "-text");
  }

  @Test
  void theKeyBelongsToTheCertificateAndIsForItsOwnerAlone() {
    assertThat(Shell.run("openssl", "pkey", "-in", files.key(), "-pubout"))
        .isEqualTo(Shell.run("openssl", "x509", "-in", files.certificate(), "-noout", "-pubkey"));
    assertThat(Shell.run("stat", "-c", "%a", files.key(), files.tls())).isEqualTo("600\n700\n");
  }

  @Test
  void theAuthoritysKeyIsNowhere() {
    assertThat(Shell.run("grep", "-rc", "PRIVATE KEY", files.tls()).lines().sorted())
        .containsExactly(files.ca() + ":0", files.certificate() + ":0", files.key() + ":2");
  }
}
