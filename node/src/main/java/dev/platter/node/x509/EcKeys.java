package dev.platter.node.x509;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Elliptic-curve keys as others write them: in PKCS #8, which the JDK reads, or in the older form
 * of SEC 1 ("EC PRIVATE KEY"), which it does not. The latter is what is inside the former, without
 * the name of the algorithm around it.
 */
public final class EcKeys {
  private static final String EC_PUBLIC_KEY = "2a8648ce3d0201";
  private static final int SEQUENCE = 0x30;
  private static final int INTEGER = 0x02;
  private static final int OCTETS = 0x04;
  private static final int PARAMETERS = 0xa0;

  /** One byte with the length follows. */
  private static final int LONG_LENGTH = 0x81;

  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ((?:EC )?PRIVATE KEY)-----([^-]*)-----END \\1-----");

  private EcKeys() {}

  /**
   * @param pem may hold other things before it, such as parameters
   * @return empty if the first key in it is not one of an elliptic curve
   */
  public static Optional<PrivateKey> read(byte[] pem) throws GeneralSecurityException {
    var block = BLOCK.matcher(new String(pem, StandardCharsets.US_ASCII));
    if (!block.find()) {
      return Optional.empty();
    }
    byte[] der;
    try {
      der = Base64.getMimeDecoder().decode(block.group(2));
    } catch (IllegalArgumentException e) {
      throw new GeneralSecurityException("a private key is not base64", e);
    }
    var old = block.group(1).startsWith("EC");
    try {
      var spec = new PKCS8EncodedKeySpec(old ? pkcs8(der) : der);
      return Optional.of(KeyFactory.getInstance("EC").generatePrivate(spec));
    } catch (InvalidKeySpecException e) {
      if (old) {
        throw e;
      }
      return Optional.empty(); // It may be one of RSA.
    }
  }

  private static byte[] pkcs8(byte[] sec1) throws GeneralSecurityException {
    var key = ByteBuffer.wrap(content(ByteBuffer.wrap(sec1), SEQUENCE));
    content(key, INTEGER);
    content(key, OCTETS);
    var curve = content(key, PARAMETERS);
    return Der.sequence(
        Der.tagged(INTEGER, new byte[] {0}),
        Der.sequence(Der.oid(EC_PUBLIC_KEY), curve),
        Der.octets(sec1));
  }

  /** The content of the next value, which has to have this tag. */
  private static byte[] content(ByteBuffer der, int tag) throws GeneralSecurityException {
    try {
      if ((der.get() & 0xff) != tag) {
        throw new GeneralSecurityException("an elliptic-curve key that does not name its curve");
      }
      int length = der.get() & 0xff;
      if (length == LONG_LENGTH) {
        length = der.get() & 0xff; // A key has a few hundred bytes at most.
      }
      var out = new byte[length];
      der.get(out);
      return out;
    } catch (BufferUnderflowException e) {
      throw new GeneralSecurityException("an elliptic-curve key that ends too early", e);
    }
  }
}
