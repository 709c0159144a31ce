package dev.platter.image;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The SHA-256 of some bytes: the name by which images and their parts are known. */
public record Digest(String hex) {
  private static final String PREFIX = "sha256:";
  private static final int HEX_DIGITS = 64;

  public Digest {
    if (!isHex(hex)) {
      throw new IllegalArgumentException("not the lower-case hex of a SHA-256");
    }
  }

  /**
   * By hand, and without a branch that nobody can foresee: an image has thousands of them, and a
   * guest waits for its first block.
   */
  private static boolean isHex(String text) {
    if (text.length() != HEX_DIGITS) {
      return false;
    }
    int wrong = 0;
    for (int i = 0; i < HEX_DIGITS; i++) {
      int c = text.charAt(i);
      int noDigit = (c - '0') | ('9' - c); // negative if it is none
      int noLetter = (c - 'a') | ('f' - c);
      wrong |= noDigit & noLetter;
    }
    return wrong >= 0;
  }

  /** Reads {@code sha256:<64 hex digits>}; every other algorithm is refused. */
  public static Digest parse(String text) throws BadImageException {
    try {
      if (text.startsWith(PREFIX)) {
        return new Digest(text.substring(PREFIX.length()));
      }
    } catch (IllegalArgumentException e) {
      // It is refused below, in words for whoever reads about an image.
    }
    throw new BadImageException(
        "'" + Printable.of(text) + "' is no digest: expected sha256: and 64 hex digits");
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
