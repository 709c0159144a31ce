package dev.platter.image.gzip;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

final class Sha256 {
  static final int BYTES = 32;

  private Sha256() {}

  static MessageDigest start() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }
}
