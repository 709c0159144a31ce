package dev.platter.node.x509;

import java.io.ByteArrayInputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.util.Arrays;
import java.util.List;

/**
 * A certificate authority for servers: it signs their certificates and nothing else.
 *
 * <p>The JDK has no public way to make certificates. It takes a hundred lines of DER, no other
 * program and a few milliseconds: keytool would take four starts of a JVM and files with the
 * authority's key, openssl is one more thing to install.
 *
 * @param certificate its own, signed by itself
 */
public record Authority(PrivateKey key, X509Certificate certificate) {
  private static final byte[] ECDSA_WITH_SHA256 = Der.sequence(Der.oid("2a8648ce3d040302"));
  private static final String COMMON_NAME = "550403";
  private static final String KEY_IDENTIFIER = "551d0e";
  private static final String KEY_USAGE = "551d0f";
  private static final String ALTERNATIVE_NAMES = "551d11";
  private static final String BASIC_CONSTRAINTS = "551d13";
  private static final String AUTHORITY_KEY_IDENTIFIER = "551d23";
  private static final String EXTENDED_KEY_USAGE = "551d25";
  private static final String SERVER_AUTHENTICATION = "2b06010505070301";

  /** A server's key, and what says whose it is. */
  public record Server(PrivateKey key, X509Certificate certificate) {}

  /** What a client can call a server. */
  public static final class Name {
    private final byte[] der;

    private Name(int tag, byte[] value) {
      this.der = Der.tagged(tag, value);
    }

    public static Name dns(String name) {
      return new Name(0x82, name.getBytes(StandardCharsets.US_ASCII));
    }

    public static Name address(byte[] address) {
      return new Name(0x87, address);
    }
  }

  public static Authority make(String commonName, Validity validity) {
    return sure(
        () -> {
          var keys = keys();
          var name = name(commonName);
          var certificate =
              certificate(
                  keys.getPrivate(),
                  name,
                  name,
                  validity,
                  keys.getPublic(),
                  critical(
                      BASIC_CONSTRAINTS, Der.sequence(Der.yes(), Der.integer(BigInteger.ZERO))),
                  critical(KEY_USAGE, Der.bits(1, new byte[] {0b0000_0110})),
                  extension(KEY_IDENTIFIER, Der.octets(identifier(keys.getPublic()))));
          return new Authority(keys.getPrivate(), certificate);
        });
  }

  public Server server(String commonName, List<Name> names, Validity validity) {
    return sure(
        () -> {
          var keys = keys();
          var signed =
              certificate(
                  key,
                  certificate.getSubjectX500Principal().getEncoded(),
                  name(commonName),
                  validity,
                  keys.getPublic(),
                  critical(BASIC_CONSTRAINTS, Der.sequence()),
                  critical(KEY_USAGE, Der.bits(7, new byte[] {(byte) 0b1000_0000})),
                  extension(EXTENDED_KEY_USAGE, Der.sequence(Der.oid(SERVER_AUTHENTICATION))),
                  extension(
                      ALTERNATIVE_NAMES,
                      Der.sequence(names.stream().map(name -> name.der).toArray(byte[][]::new))),
                  extension(
                      AUTHORITY_KEY_IDENTIFIER,
                      Der.sequence(Der.tagged(0x80, identifier(certificate.getPublicKey())))));
          return new Server(keys.getPrivate(), signed);
        });
  }

  private interface Signing<T> {
    T run() throws GeneralSecurityException;
  }

  private static <T> T sure(Signing<T> work) {
    try {
      return work.run();
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has P-256 and SHA-256", e);
    }
  }

  private static KeyPair keys() throws GeneralSecurityException {
    var generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    return generator.generateKeyPair();
  }

  private static X509Certificate certificate(
      PrivateKey signer,
      byte[] issuer,
      byte[] subject,
      Validity validity,
      PublicKey key,
      byte[]... extensions)
      throws GeneralSecurityException {
    var version3 = Der.tagged(0xa0, Der.integer(BigInteger.TWO));
    var body =
        Der.sequence(
            version3,
            Der.integer(new BigInteger(127, new SecureRandom()).setBit(126)),
            ECDSA_WITH_SHA256,
            issuer,
            validity.der(),
            subject,
            key.getEncoded(),
            Der.tagged(0xa3, Der.sequence(extensions)));
    var signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(signer);
    signature.update(body);
    var der = Der.sequence(body, ECDSA_WITH_SHA256, Der.bits(0, signature.sign()));
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der));
  }

  private static byte[] name(String commonName) {
    return Der.sequence(Der.set(Der.sequence(Der.oid(COMMON_NAME), Der.text(commonName))));
  }

  private static byte[] extension(String oid, byte[] value) {
    return Der.sequence(Der.oid(oid), Der.octets(value));
  }

  private static byte[] critical(String oid, byte[] value) {
    return Der.sequence(Der.oid(oid), Der.yes(), Der.octets(value));
  }

  /** Any bytes that differ between keys will do (RFC 7093). */
  private static byte[] identifier(PublicKey key) throws GeneralSecurityException {
    var hash = MessageDigest.getInstance("SHA-256").digest(key.getEncoded());
    return Arrays.copyOf(hash, 20);
  }
}
