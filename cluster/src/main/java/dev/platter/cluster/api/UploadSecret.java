package dev.platter.cluster.api;

import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.Validity;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * The Secret of a pod that takes a disk: its certificate, and the token that clients have to show.
 * Whoever can read the Secret can send the disk. The key of the authority is not there; where the
 * authority is there for this pod alone, its key signs once and is forgotten.
 */
public final class UploadSecret {
  public static final String KEY = "tls.key";
  public static final String CERTIFICATE = "tls.crt";
  public static final String AUTHORITY = "ca.crt";
  public static final String TOKEN = "token";

  /** Where the pod takes the disk. */
  public static final int PORT = 8443;

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int TOKEN_BYTES = 24;
  private static final byte[] LOOPBACK = {127, 0, 0, 1};

  private UploadSecret() {}

  /**
   * Its files.
   *
   * @param name of the pod, which clients in the cluster call it; others come by a port of their
   *     own machine
   */
  public static Map<String, byte[]> make(String name) {
    return make(name, Authority.make("Platter CA for " + name, Validity.ALWAYS));
  }

  /**
   * Its files, with a certificate of an authority that others know: they can tell this pod from
   * others, and the pod can tell an {@link UploadToken} that the authority has signed.
   */
  public static Map<String, byte[]> make(String name, Authority authority) {
    var names =
        List.of(
            Authority.Name.dns(name),
            Authority.Name.dns("localhost"),
            Authority.Name.address(LOOPBACK));
    var server = authority.server(name, names, Validity.ALWAYS);
    var token = new byte[TOKEN_BYTES];
    RANDOM.nextBytes(token);
    return Map.of(
        KEY, Pem.of(server.key()),
        CERTIFICATE, Pem.of(server.certificate()),
        AUTHORITY, Pem.of(authority.certificate()),
        TOKEN, HexFormat.of().formatHex(token).getBytes(StandardCharsets.US_ASCII));
  }
}
