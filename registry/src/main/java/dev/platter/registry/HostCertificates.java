package dev.platter.registry;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/** Makes the TLS side of one host from its files in {@code certs.d}. */
final class HostCertificates {
  private static final int MAX_BYTES = 1 << 20;
  private static final Pattern PKCS8 =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");

  private HostCertificates() {}

  /**
   * @param insecure trust everybody, by the operator's explicit word
   */
  static SSLContext context(Optional<HostFiles> host, boolean insecure) throws IOException {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      KeyManager @Nullable [] keys = host.isEmpty() ? null : clientKeys(host.get());
      TrustManager[] trust =
          insecure
              ? new TrustManager[] {new TrustEverybody()}
              : trust(host.isEmpty() ? List.of() : host.get().authorities());
      context.init(keys, trust, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException(
          "the certificates in %s cannot be used: %s"
              .formatted(host.map(HostFiles::toString).orElse("the system"), e.getMessage()),
          e);
    }
  }

  private static TrustManager[] trust(List<Path> authorities)
      throws IOException, GeneralSecurityException {
    KeyStore store = emptyStore();
    TrustManagerFactory system =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    system.init((KeyStore) null);
    int count = 0;
    for (TrustManager manager : system.getTrustManagers()) {
      if (manager instanceof X509TrustManager x509) {
        for (X509Certificate issuer : x509.getAcceptedIssuers()) {
          store.setCertificateEntry("ca" + count++, issuer);
        }
      }
    }
    for (Path file : authorities) {
      for (Certificate certificate : certificates(file)) {
        store.setCertificateEntry("ca" + count++, certificate);
      }
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static KeyManager[] clientKeys(HostFiles host)
      throws IOException, GeneralSecurityException {
    KeyStore store = emptyStore();
    char[] none = {};
    for (Path file : host.clientCertificates()) {
      String name = file.toString().replaceFirst("\\.cert$", "");
      Certificate[] chain = certificates(file).toArray(Certificate[]::new);
      store.setKeyEntry(name, privateKey(Path.of(name + ".key"), chain[0]), none, chain);
    }
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, none);
    return factory.getKeyManagers();
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static List<? extends Certificate> certificates(Path file)
      throws IOException, GeneralSecurityException {
    List<? extends Certificate> found =
        List.copyOf(
            CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(read(file))));
    if (found.isEmpty()) {
      throw new IOException(file + " has no certificate");
    }
    return found;
  }

  private static PrivateKey privateKey(Path file, Certificate certificate)
      throws IOException, GeneralSecurityException {
    Matcher pem = PKCS8.matcher(new String(read(file), StandardCharsets.US_ASCII));
    if (!pem.find()) {
      throw new IOException(
          file
              + " is no unencrypted PKCS#8 key (BEGIN PRIVATE KEY);"
              + " convert it with 'openssl pkcs8 -topk8 -nocrypt'");
    }
    try {
      byte[] der = Base64.getMimeDecoder().decode(pem.group(1));
      return KeyFactory.getInstance(certificate.getPublicKey().getAlgorithm())
          .generatePrivate(new PKCS8EncodedKeySpec(der));
    } catch (InvalidKeySpecException | IllegalArgumentException e) {
      // Without the cause: it may quote the key.
      throw new IOException(file + " is not the private key of the certificate beside it");
    }
  }

  private static byte[] read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      return in.readNBytes(MAX_BYTES);
    }
  }

  /** The extended form, because the JDK checks the host name itself for the plain one. */
  private static final class TrustEverybody extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
