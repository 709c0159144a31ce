package dev.platter.node.x509;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** TLS with certificates that an {@link Authority} made. */
public final class TlsContexts {
  private TlsContexts() {}

  /** Of a server that shows this certificate. */
  public static SSLContext server(PrivateKey key, X509Certificate certificate)
      throws GeneralSecurityException, IOException {
    var password = new char[0];
    var keys = KeyStore.getInstance("PKCS12");
    keys.load(null, null);
    keys.setKeyEntry("server", key, password, new X509Certificate[] {certificate});
    var ours = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    ours.init(keys, password);
    var context = SSLContext.getInstance("TLS");
    context.init(ours.getKeyManagers(), null, null);
    return context;
  }

  /** Of clients that trust this authority, and nobody else. */
  public static SSLContext client(X509Certificate authority)
      throws GeneralSecurityException, IOException {
    return client(List.of(authority));
  }

  /** The same, of any of these. */
  public static SSLContext client(List<X509Certificate> authorities)
      throws GeneralSecurityException, IOException {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    for (var i = 0; i < authorities.size(); i++) {
      store.setCertificateEntry("ca-" + i, authorities.get(i));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }
}
