package dev.platter.node.container;

import dev.platter.node.durable.Durable;
import java.io.IOException;
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
import java.security.spec.ECGenParameterSpec;
import java.util.Base64;

/**
 * A certificate authority that exists to sign one certificate: that of the service on the loopback
 * address. Its private key is never written anywhere and is forgotten at once, so trust in it can
 * not be misused later; whoever else listens on the port cannot pass for the service.
 *
 * <p>The JDK has no public way to make certificates. Two of them take a hundred lines of DER, no
 * other program, a few milliseconds, and no file with the authority's key: keytool would take four
 * starts of a JVM, openssl is one more thing to install.
 *
 * <p>They never expire (RFC 5280, 4.1.2.5): a VM may run for years, and they go with it.
 */
final class VolumeCa {
  private static final byte[] ECDSA_WITH_SHA256 = Der.sequence(Der.oid("2a8648ce3d040302"));
  private static final byte[] VALID =
      Der.sequence(Der.utcTime("700101000000Z"), Der.generalizedTime("99991231235959Z"));
  private static final String COMMON_NAME = "550403";
  private static final String KEY_IDENTIFIER = "551d0e";
  private static final String KEY_USAGE = "551d0f";
  private static final String ALTERNATIVE_NAMES = "551d11";
  private static final String BASIC_CONSTRAINTS = "551d13";
  private static final String AUTHORITY_KEY_IDENTIFIER = "551d23";
  private static final String EXTENDED_KEY_USAGE = "551d25";
  private static final String SERVER_AUTHENTICATION = "2b06010505070301";

  private VolumeCa() {}

  /** Makes the directory {@code tls} with all that is in it; nobody but its owner can read it. */
  static void issue(String volume, VolumeFiles files) throws IOException {
    try {
      var authority = keys();
      var server = keys();
      var authorityName = name("Platter CA for " + volume);
      var authorityId = identifier(authority.getPublic());
      var root =
          certificate(
              authority.getPrivate(),
              authorityName,
              authorityName,
              authority.getPublic(),
              critical(BASIC_CONSTRAINTS, Der.sequence(Der.yes(), Der.integer(BigInteger.ZERO))),
              critical(KEY_USAGE, Der.bits(1, new byte[] {0b0000_0110})),
              extension(KEY_IDENTIFIER, Der.octets(authorityId)));
      var leaf =
          certificate(
              authority.getPrivate(),
              authorityName,
              name(volume),
              server.getPublic(),
              critical(BASIC_CONSTRAINTS, Der.sequence()),
              critical(KEY_USAGE, Der.bits(7, new byte[] {(byte) 0b1000_0000})),
              extension(EXTENDED_KEY_USAGE, Der.sequence(Der.oid(SERVER_AUTHENTICATION))),
              extension(
                  ALTERNATIVE_NAMES, Der.sequence(Der.tagged(0x87, new byte[] {127, 0, 0, 1}))),
              extension(AUTHORITY_KEY_IDENTIFIER, Der.sequence(Der.tagged(0x80, authorityId))));
      Durable.makeDirectory(files.tls());
      Durable.write(files.key(), pem("PRIVATE KEY", server.getPrivate().getEncoded()));
      Durable.write(files.certificate(), pem("CERTIFICATE", leaf));
      Durable.write(files.ca(), pem("CERTIFICATE", root));
    } catch (GeneralSecurityException e) {
      throw new AssertionError("every JDK has P-256 and SHA-256", e);
    }
  }

  private static KeyPair keys() throws GeneralSecurityException {
    var generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    return generator.generateKeyPair();
  }

  private static byte[] certificate(
      PrivateKey signer, byte[] issuer, byte[] subject, PublicKey key, byte[]... extensions)
      throws GeneralSecurityException {
    var version3 = Der.tagged(0xa0, Der.integer(BigInteger.TWO));
    var body =
        Der.sequence(
            version3,
            Der.integer(new BigInteger(127, new SecureRandom()).setBit(126)),
            ECDSA_WITH_SHA256,
            issuer,
            VALID,
            subject,
            key.getEncoded(),
            Der.tagged(0xa3, Der.sequence(extensions)));
    var signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(signer);
    signature.update(body);
    return Der.sequence(body, ECDSA_WITH_SHA256, Der.bits(0, signature.sign()));
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
    return java.util.Arrays.copyOf(hash, 20);
  }

  private static byte[] pem(String type, byte[] der) {
    var base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return "-----BEGIN %1$s-----%n%2$s%n-----END %1$s-----%n"
        .formatted(type, base64)
        .getBytes(StandardCharsets.US_ASCII);
  }
}
