package dev.platter.cluster.fill;

import dev.platter.cluster.api.UploadSecret;
import dev.platter.cluster.api.UploadToken;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.fill.UploadServer;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.TlsContexts;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import javax.net.ssl.SSLContext;

/**
 * Takes the disk of a claim from whoever has the token of its Secret, or one that the authority of
 * that Secret has signed for this claim, over TLS.
 */
final class FillUpload {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final long TICK_MILLIS = 500;

  private FillUpload() {}

  /** Returns the digest of what came, when it is there. */
  static String take(FillRun.Wanted wanted, StateLayout layout, ProgressServer progress)
      throws IOException, InterruptedException {
    var secret =
        wanted
            .login()
            .orElseThrow(
                () -> PlatterException.of(Code.INVALID, "no Secret is mounted", "Name --login."));
    var token =
        new String(Files.readAllBytes(secret.resolve(UploadSecret.TOKEN)), StandardCharsets.UTF_8);
    var options =
        new UploadServer.Options(
            new InetSocketAddress(wanted.uploadPort()),
            layout,
            wanted.target(),
            wanted.size(),
            false,
            wanted.format(),
            Optional.of(token),
            PATIENCE,
            true);
    try (var server = UploadServer.start(options, context(secret), signed(secret));
        var clock = Executors.newSingleThreadScheduledExecutor()) {
      var _ =
          clock.scheduleAtFixedRate(
              () -> progress.bytes("upload", server.offset(), server.total()),
              0,
              TICK_MILLIS,
              TimeUnit.MILLISECONDS);
      try {
        return server.await();
      } finally {
        clock.shutdownNow();
      }
    }
  }

  /** Tokens for this pod that its authority has signed, if that signs any. */
  private static Predicate<String> signed(Path secret) throws IOException {
    try {
      var authorities =
          Pem.certificates(Files.readAllBytes(secret.resolve(UploadSecret.AUTHORITY)));
      var keys = authorities.stream().map(X509Certificate::getPublicKey).toList();
      var names = certificate(secret).getSubjectAlternativeNames();
      return token ->
          UploadToken.read(token, keys, Instant.now())
              .filter(read -> names.stream().anyMatch(name -> name.contains(read.pod())))
              .isPresent();
    } catch (GeneralSecurityException e) {
      throw new IOException("the certificate of the Secret's authority cannot be used", e);
    }
  }

  private static X509Certificate certificate(Path secret)
      throws IOException, GeneralSecurityException {
    return Pem.certificates(Files.readAllBytes(secret.resolve(UploadSecret.CERTIFICATE)))
        .getFirst();
  }

  private static SSLContext context(Path secret) throws IOException {
    try {
      return TlsContexts.server(
          Pem.key(Files.readAllBytes(secret.resolve(UploadSecret.KEY))), certificate(secret));
    } catch (GeneralSecurityException e) {
      throw new IOException("the certificate of the Secret cannot be used", e);
    }
  }
}
