package dev.platter.cluster.upload;

import dev.platter.node.x509.Pem;
import dev.platter.node.x509.TlsContexts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * A part of the Secret {@code platter-uploads}, as the kubelet mounts it: a certificate with its
 * key, and the authorities that pods have theirs from and that sign tokens. The keys of the
 * authorities are not mounted. What was renewed is there some minutes later, and is read then.
 */
final class UploadFiles {
  private static final String AUTHORITIES = "ca.crt";
  private static final String CERTIFICATE = "tls.crt";
  private static final String KEY = "tls.key";

  private final Path directory;
  private List<byte[]> files = List.of();
  private @Nullable Content content;

  /** What is in the files at a moment. */
  record Content(SSLContext server, SSLContext pods, List<? extends PublicKey> signers) {}

  UploadFiles(Path directory) {
    this.directory = directory;
  }

  /**
   * @throws IllegalStateException if they are not there, or are no certificates
   */
  synchronized Content read() {
    try {
      var now = List.of(bytes(AUTHORITIES), bytes(CERTIFICATE), bytes(KEY));
      if (content == null || !same(now, files)) {
        content = parsed(now.get(0), now.get(1), now.get(2));
        files = now;
      }
      return content;
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalStateException("the Secret of uploads cannot be used: " + e.getMessage(), e);
    }
  }

  private byte[] bytes(String name) throws IOException {
    return Files.readAllBytes(directory.resolve(name));
  }

  private static boolean same(List<byte[]> one, List<byte[]> other) {
    return Arrays.deepEquals(one.toArray(), other.toArray());
  }

  private static Content parsed(byte[] authorities, byte[] certificate, byte[] key)
      throws IOException, GeneralSecurityException {
    var trusted = Pem.certificates(authorities);
    return new Content(
        TlsContexts.server(Pem.key(key), Pem.certificates(certificate).getFirst()),
        TlsContexts.client(trusted),
        trusted.stream().map(X509Certificate::getPublicKey).toList());
  }
}
