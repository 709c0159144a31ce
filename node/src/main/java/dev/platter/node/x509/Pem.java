package dev.platter.node.x509;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;

/** Certificates and keys as text between dashes. */
public final class Pem {
  private static final String CERTIFICATE = "CERTIFICATE";
  private static final String KEY = "PRIVATE KEY";

  private Pem() {}

  public static byte[] of(X509Certificate certificate) {
    try {
      return text(CERTIFICATE, certificate.getEncoded());
    } catch (GeneralSecurityException e) {
      throw new AssertionError("it was decoded from what is asked for", e);
    }
  }

  public static byte[] of(PrivateKey key) {
    return text(KEY, key.getEncoded());
  }

  /** All certificates of a text, in its order. */
  public static List<X509Certificate> certificates(byte[] pem) throws GeneralSecurityException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificates(new ByteArrayInputStream(pem))
        .stream()
        .map(X509Certificate.class::cast)
        .toList();
  }

  /** The elliptic-curve key of a text that holds nothing else. */
  public static PrivateKey key(byte[] pem) throws GeneralSecurityException {
    var text = new String(pem, StandardCharsets.US_ASCII).strip();
    var start = "-----BEGIN " + KEY + "-----";
    var end = "-----END " + KEY + "-----";
    if (!text.startsWith(start) || !text.endsWith(end)) {
      throw new GeneralSecurityException("not a " + KEY + " in PEM");
    }
    var base64 = text.substring(start.length(), text.length() - end.length());
    try {
      return KeyFactory.getInstance("EC")
          .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(base64)));
    } catch (IllegalArgumentException e) {
      throw new GeneralSecurityException("not base64", e);
    }
  }

  private static byte[] text(String type, byte[] der) {
    var base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return ("-----BEGIN " + type + "-----\n" + base64 + "\n-----END " + type + "-----\n")
        .getBytes(StandardCharsets.US_ASCII);
  }
}
