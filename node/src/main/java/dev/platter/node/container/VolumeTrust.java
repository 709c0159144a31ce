package dev.platter.node.container;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * Trust in the volume's own authority and in no other. That has signed one certificate, so who
 * shows it is the service, at whatever address: in a cluster nobody knows that beforehand.
 */
final class VolumeTrust extends X509ExtendedTrustManager {
  private final X509TrustManager chain;

  private VolumeTrust(X509TrustManager chain) {
    this.chain = chain;
  }

  /**
   * @param pem the authority's certificate
   */
  static SSLContext context(byte[] pem) throws IOException {
    try {
      var authority =
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(pem));
      var store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      store.setCertificateEntry("ca", authority);
      var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(store);
      var chain = (X509TrustManager) factory.getTrustManagers()[0];
      var context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {new VolumeTrust(chain)}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException("the certificate of the volume's authority cannot be used", e);
    }
  }

  @Override
  public void checkServerTrusted(X509Certificate[] shown, String type) throws CertificateException {
    chain.checkServerTrusted(shown, type);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] shown, String type, Socket socket)
      throws CertificateException {
    chain.checkServerTrusted(shown, type);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] shown, String type, SSLEngine engine)
      throws CertificateException {
    chain.checkServerTrusted(shown, type);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] shown, String type) throws CertificateException {
    throw new CertificateException("there are no clients here");
  }

  @Override
  public void checkClientTrusted(X509Certificate[] shown, String type, Socket socket)
      throws CertificateException {
    checkClientTrusted(shown, type);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] shown, String type, SSLEngine engine)
      throws CertificateException {
    checkClientTrusted(shown, type);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return chain.getAcceptedIssuers();
  }
}
