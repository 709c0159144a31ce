package dev.platter.node.network;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Base64;

/** A secret and the name by which QEMU's options refer to it. Its bytes are shown to nobody. */
public final class SecretValue {
  private final String id;
  private final byte[] bytes;

  /**
   * @param id letters, digits, {@code -} and {@code _}, starting with a letter
   */
  public SecretValue(String id, byte[] bytes) {
    if (!id.matches("[A-Za-z][A-Za-z0-9_-]{0,63}")) {
      throw new IllegalArgumentException("'" + id + "' cannot be the name of a secret");
    }
    this.id = id;
    this.bytes = bytes.clone();
  }

  String id() {
    return id;
  }

  byte[] bytes() {
    return bytes;
  }

  /** A text in which this secret does not appear. */
  String masked(String text) {
    if (bytes.length == 0) {
      return text;
    }
    return text.replace(new String(bytes, UTF_8), "***")
        .replace(Base64.getEncoder().encodeToString(bytes), "***");
  }

  @Override
  public String toString() {
    return id + "=***";
  }
}
