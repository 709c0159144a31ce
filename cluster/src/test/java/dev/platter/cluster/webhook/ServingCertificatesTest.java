package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What OpenSSL thinks of the certificates, today and in years. */
class ServingCertificatesTest {
  private static final String HOST = "platter-webhook.platter-system.svc";
  private static final Instant START = Instant.parse("2026-06-01T00:00:00Z");

  @TempDir Path work;
  private final MemoryStore store = new MemoryStore();

  private ServingCertificates replica(Duration later) {
    return new ServingCertificates(store, HOST, Clock.fixed(START.plus(later), ZoneOffset.UTC));
  }

  private Shell.Result verify(String host, Duration later) throws IOException {
    Files.write(work.resolve("ca.crt"), store.trusted);
    Files.write(work.resolve("tls.crt"), store.data.get(ServingMaterial.CERTIFICATE));
    return Shell.shell()
        .execute(
            "openssl",
            "verify",
            "-x509_strict",
            "-purpose",
            "sslserver",
            "-verify_hostname",
            host,
            "-attime",
            START.plus(later).getEpochSecond(),
            "-CAfile",
            work.resolve("ca.crt"),
            work.resolve("tls.crt"));
  }

  @Test
  void opensslVerifiesTheServiceByItsName() throws IOException {
    replica(Duration.ZERO).refresh();
    assertThat(verify(HOST, Duration.ZERO).output()).endsWith("tls.crt: OK\n");
    assertThat(verify("other.svc", Duration.ZERO).output()).contains("ostname mismatch");
    assertThat(verify(HOST, Duration.ofDays(366)).output()).contains("expired");
  }

  @Test
  void theKeyBelongsToTheCertificate() throws IOException {
    replica(Duration.ZERO).refresh();
    Files.write(work.resolve("tls.key"), store.data.get(ServingMaterial.KEY));
    Files.write(work.resolve("tls.crt"), store.data.get(ServingMaterial.CERTIFICATE));
    assertThat(Shell.run("openssl", "pkey", "-in", work.resolve("tls.key"), "-pubout"))
        .isEqualTo(
            Shell.run("openssl", "x509", "-in", work.resolve("tls.crt"), "-noout", "-pubkey"));
  }

  @Test
  void replicasShareOneCertificateWhoeverIsFaster() {
    var other = replica(Duration.ZERO);
    store.beforeReplace =
        () -> {
          store.beforeReplace = () -> {};
          other.refresh();
        };
    var late = replica(Duration.ZERO);
    late.refresh();
    assertThat(store.version).isEqualTo(1);
    assertThat(late.ready()).isTrue();
    assertThat(store.trusted).isEqualTo(store.data.get(ServingMaterial.CA));
  }

  @Test
  void nothingIsWrittenWhileNothingIsDue() {
    replica(Duration.ZERO).refresh();
    replica(Duration.ofDays(200)).refresh();
    assertThat(store.version).isEqualTo(1);
    replica(Duration.ofDays(250)).refresh();
    assertThat(store.version).isEqualTo(2);
  }

  @Test
  void atNoTimeInTwentyYearsDoesTheApiServerNotTrustTheCertificate() throws IOException {
    for (var day = 0; day < 20 * 365; day += 100) {
      var before = store.trusted;
      replica(Duration.ofDays(day)).refresh();
      assertThat(verify(HOST, Duration.ofDays(day)).output()).endsWith("tls.crt: OK\n");
      if (before.length > 0) {
        // The API server may not have heard of the new authorities yet.
        store.trusted = before;
        assertThat(verify(HOST, Duration.ofDays(day)).output()).endsWith("tls.crt: OK\n");
      }
      replica(Duration.ofDays(day)).refresh();
    }
    assertThat(store.version).isGreaterThan(20);
  }

  @Test
  void aSecretThatSomebodySpoiledIsMadeAnew() throws IOException {
    replica(Duration.ZERO).refresh();
    store.data.put(ServingMaterial.CERTIFICATE, "nonsense".getBytes());
    replica(Duration.ZERO).refresh();
    assertThat(verify(HOST, Duration.ZERO).output()).endsWith("tls.crt: OK\n");
  }
}
