package dev.platter.cluster.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Collection;
import java.util.Optional;

/**
 * That whoever has it may send the disk of one claim, for some minutes: a JSON Web Token that says
 * what one of CDI says, and beside it the claim's UID, so that it is no use for another claim of
 * that name. It is kept nowhere: who has the key of the authority makes it, and who knows the
 * authority can tell it from others.
 *
 * <p>There is one way to sign it. What a token says of that itself is compared and not followed.
 *
 * @param uid the claim's
 * @param expires to the second
 */
public record UploadToken(String namespace, String claim, String uid, Instant expires) {
  /** As long as CDI's. */
  public static final Duration TIME = Duration.ofMinutes(5);

  private static final Duration LEEWAY = Duration.ofSeconds(10);
  private static final int MOST_CHARACTERS = 4096;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Base64.Encoder ENCODER = Base64.getUrlEncoder().withoutPadding();
  private static final String HEAD =
      ENCODER.encodeToString("{\"alg\":\"ES256\",\"typ\":\"JWT\"}".getBytes(US_ASCII));
  private static final String ALGORITHM = "SHA256withECDSAinP1363Format";
  private static final String ISSUER = "platter";
  private static final String OPERATION = "Upload";
  private static final String RESOURCE = "persistentvolumeclaims";

  /** One that is good from now on. */
  public static UploadToken of(String namespace, String claim, String uid, Instant now) {
    return new UploadToken(
        namespace, claim, uid, Instant.ofEpochSecond(now.plus(TIME).getEpochSecond()));
  }

  /**
   * @param key an authority's, of the curve P-256
   */
  public String signed(PrivateKey key) {
    var said = JSON.createObjectNode();
    said.put("operation", OPERATION).put("name", claim).put("namespace", namespace);
    said.putObject("resource").put("group", "").put("version", "v1").put("resource", RESOURCE);
    said.putObject("params").put("uid", uid);
    var from = expires.minus(TIME).getEpochSecond();
    said.put("iss", ISSUER).put("iat", from).put("nbf", from).put("exp", expires.getEpochSecond());
    var text = HEAD + "." + ENCODER.encodeToString(said.toString().getBytes(UTF_8));
    try {
      var signature = Signature.getInstance(ALGORITHM);
      signature.initSign(key);
      signature.update(text.getBytes(US_ASCII));
      return text + "." + ENCODER.encodeToString(signature.sign());
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("the key of the authority cannot sign", e);
    }
  }

  /**
   * Empty if none of these keys has signed it, or its time is over, or it is for something else.
   */
  public static Optional<UploadToken> read(
      String text, Collection<? extends PublicKey> keys, Instant now) {
    var parts = text.length() > MOST_CHARACTERS ? new String[0] : text.split("\\.", -1);
    if (parts.length != 3 || !parts[0].equals(HEAD)) {
      return Optional.empty();
    }
    try {
      var signed = (parts[0] + "." + parts[1]).getBytes(US_ASCII);
      var signature = Base64.getUrlDecoder().decode(parts[2]);
      if (keys.stream().noneMatch(key -> verifies(key, signed, signature))) {
        return Optional.empty();
      }
      return said(Base64.getUrlDecoder().decode(parts[1]))
          .filter(token -> now.isBefore(token.expires.plus(LEEWAY)))
          .filter(token -> !now.isBefore(token.expires.minus(TIME).minus(LEEWAY)));
    } catch (IllegalArgumentException e) {
      return Optional.empty(); // It is not base64.
    }
  }

  private static boolean verifies(PublicKey key, byte[] text, byte[] signature) {
    try {
      var verifier = Signature.getInstance(ALGORITHM);
      verifier.initVerify(key);
      verifier.update(text);
      return verifier.verify(signature);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  /** What we have signed we have written, but maybe for something else. */
  private static Optional<UploadToken> said(byte[] json) {
    try {
      var said = JSON.readTree(json);
      var token =
          new UploadToken(
              said.path("namespace").asText(),
              said.path("name").asText(),
              said.path("params").path("uid").asText(),
              Instant.ofEpochSecond(said.path("exp").asLong()));
      return Optional.of(token)
          .filter(_ -> said.path("iss").asText().equals(ISSUER))
          .filter(_ -> said.path("operation").asText().equals(OPERATION))
          .filter(_ -> said.path("resource").path("resource").asText().equals(RESOURCE));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** The pod that it lets its owner send to. */
  public String pod() {
    return Names.FILLS_PREFIX + uid;
  }
}
