package dev.platter.image;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** The SHA-256 of some bytes: the name by which images and their parts are known. */
public record Digest(String hex) {
  private static final String PREFIX = "sha256:";
  private static final Pattern HEX = Pattern.compile("[0-9a-f]{64}");

  public Digest {
    if (!HEX.matcher(hex).matches()) {
      throw new IllegalArgumentException("not the lower-case hex of a SHA-256");
    }
  }

  /** Reads {@code sha256:<64 hex digits>}; every other algorithm is refused. */
  public static Digest parse(String text) throws BadImageException {
    if (!text.startsWith(PREFIX) || !HEX.matcher(text.substring(PREFIX.length())).matches()) {
      throw new BadImageException(
          "'" + Printable.of(text) + "' is no digest: expected sha256: and 64 hex digits");
    }
    return new Digest(text.substring(PREFIX.length()));
  }

  public static Digest of(byte[] bytes) {
    MessageDigest digest = sha256();
    digest.update(bytes);
    return finish(digest);
  }

  /** Ends a running hash. */
  public static Digest finish(MessageDigest digest) {
    return new Digest(HexFormat.of().formatHex(digest.digest()));
  }

  /** For bytes that come in pieces; ended by {@link #finish}. */
  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }

  @Override
  public String toString() {
    return PREFIX + hex;
  }
}
