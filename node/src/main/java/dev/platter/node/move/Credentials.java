package dev.platter.node.move;

import dev.platter.image.Digest;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.function.Predicate;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * The key of a node and its certificate, which live as long as the process and are never on a disk.
 * Nobody vouches for the certificate: others know it by its fingerprint, which they have from
 * somebody they believe. So dates, names and signatures in it count for nothing.
 */
public record Credentials(Authority.Server server) {
  private static final String[] PROTOCOLS = {"TLSv1.3"};
  private static final String[] CIPHERS = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"};

  /**
   * @param node its name, for those who look at the certificate
   */
  public static Credentials make(String node) {
    var authority = Authority.make("platter-node", Validity.ALWAYS);
    return new Credentials(
        authority.server("platter-node", List.of(Authority.Name.dns(node)), Validity.ALWAYS));
  }

  /** What others know it by: {@code sha256:HEX} of the certificate. */
  public String fingerprint() {
    return fingerprint(server.certificate());
  }

  static String fingerprint(X509Certificate certificate) {
    try {
      return Digest.of(certificate.getEncoded()).toString();
    } catch (GeneralSecurityException e) {
      throw new AssertionError("it was decoded from what is asked for", e);
    }
  }

  /**
   * @param known whether a peer with this fingerprint is to be talked to
   */
  SSLContext context(Predicate<String> known) {
    try {
      var password = new char[0];
      var keys = KeyStore.getInstance("PKCS12");
      keys.load(null, null);
      keys.setKeyEntry(
          "node", server.key(), password, new X509Certificate[] {server.certificate()});
      var ours = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      ours.init(keys, password);
      var context = SSLContext.getInstance("TLS");
      context.init(ours.getKeyManagers(), new TrustManager[] {new Pinned(known)}, null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalStateException("this Java has no TLS", e);
    }
  }

  static SSLParameters parameters() {
    var parameters = new SSLParameters(CIPHERS, PROTOCOLS);
    parameters.setNeedClientAuth(true);
    return parameters;
  }

  private static final class Pinned extends X509ExtendedTrustManager {
    private final Predicate<String> known;

    Pinned(Predicate<String> known) {
      this.known = known;
    }

    private void check(X509Certificate[] chain) throws CertificateException {
      if (!known.test(fingerprint(chain[0]))) {
        throw new CertificateException("nobody has told of this certificate");
      }
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      check(chain);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
