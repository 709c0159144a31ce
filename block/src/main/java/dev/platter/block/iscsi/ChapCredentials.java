package dev.platter.block.iscsi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/** A name and a secret that CHAP proves the knowledge of. Never shown. */
public final class ChapCredentials {
  private static final int MOST = 255;

  private final String name;
  private final byte[] secret;

  public ChapCredentials(String name, byte[] secret) {
    if (name.isEmpty() || name.getBytes(UTF_8).length > MOST || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("a CHAP name has 1 to 255 bytes");
    }
    if (secret.length == 0 || secret.length > MOST) {
      throw new IllegalArgumentException("a CHAP secret has 1 to 255 bytes");
    }
    this.name = name;
    this.secret = secret.clone();
  }

  String name() {
    return name;
  }

  /** What somebody who knows the secret answers. */
  byte[] response(MessageDigest hash, int id, byte[] challenge) {
    hash.reset();
    hash.update((byte) id);
    hash.update(secret);
    return hash.digest(challenge);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ChapCredentials that
        && name.equals(that.name)
        && MessageDigest.isEqual(secret, that.secret);
  }

  @Override
  public int hashCode() {
    return name.hashCode();
  }

  boolean sameSecret(ChapCredentials other) {
    return MessageDigest.isEqual(secret, other.secret);
  }

  @Override
  public String toString() {
    return "ChapCredentials[" + name + "]";
  }
}
