package dev.platter.image;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The SHA-256 of some bytes: the name by which images and their parts are known. An image has
 * thousands of them, and a guest waits for its first block: so it is read, compared and looked up
 * as four numbers, and a text only where one is wanted.
 */
public final class Digest implements Comparable<Digest> {
  /** The bytes of a hash. */
  public static final int BYTES = 32;

  /** The characters of a text that {@link #parse} takes. */
  public static final int TEXT = 7 + 2 * BYTES;

  private static final String PREFIX = "sha256:";
  private static final byte[] PREFIX_BYTES = PREFIX.getBytes(StandardCharsets.US_ASCII);
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final long first;
  private final long second;
  private final long third;
  private final long fourth;

  /** A hash as it is. */
  public Digest(byte[] hash, int from) {
    this.first = (long) LONGS.get(hash, from);
    this.second = (long) LONGS.get(hash, from + 8);
    this.third = (long) LONGS.get(hash, from + 16);
    this.fourth = (long) LONGS.get(hash, from + 24);
  }

  public Digest(byte[] hash) {
    this(requireWhole(hash), 0);
  }

  private static byte[] requireWhole(byte[] hash) {
    if (hash.length != BYTES) {
      throw new IllegalArgumentException(hash.length + " bytes are no SHA-256");
    }
    return hash;
  }

  /** A hash as 64 lower-case hex digits. */
  public static Digest ofHex(String hex) {
    byte[] text = hex.getBytes(StandardCharsets.ISO_8859_1);
    @Nullable Digest digest = text.length == 2 * BYTES ? ofHex(text, 0) : null;
    if (digest == null) {
      throw new IllegalArgumentException("not the lower-case hex of a SHA-256");
    }
    return digest;
  }

  /** Null if there is anything but lower-case hex. */
  private static @Nullable Digest ofHex(byte[] text, int from) {
    byte[] hash = new byte[BYTES];
    int wrong = 0;
    for (int i = 0; i < BYTES; i++) {
      int high = HEX[text[from + 2 * i] & 0xff];
      int low = HEX[text[from + 2 * i + 1] & 0xff];
      wrong |= high | low;
      hash[i] = (byte) (high << 4 | low);
    }
    return wrong >= 0 ? new Digest(hash, 0) : null;
  }

  /** What a character is worth as a digit; negative if it is none. */
  private static final byte[] HEX = new byte[256];

  static {
    for (int c = 0; c < HEX.length; c++) {
      boolean digit = c < 128 && HexFormat.isHexDigit(c) && !Character.isUpperCase(c);
      HEX[c] = (byte) (digit ? HexFormat.fromHexDigit(c) : -1);
    }
  }

  /** Reads {@code sha256:<64 hex digits>}; every other algorithm is refused. */
  public static Digest parse(String text) throws BadImageException {
    @Nullable Digest digest = null;
    if (text.length() == TEXT) {
      digest = read(text.getBytes(StandardCharsets.ISO_8859_1), 0);
    }
    if (digest == null) {
      throw new BadImageException(
          "'" + Printable.of(text) + "' is no digest: expected sha256: and 64 hex digits");
    }
    return digest;
  }

  /** What {@link #parse} would make of these {@link #TEXT} bytes; null if it refused them. */
  public static @Nullable Digest read(byte[] text, int from) {
    for (int i = 0; i < PREFIX_BYTES.length; i++) {
      if (text[from + i] != PREFIX_BYTES[i]) {
        return null;
      }
    }
    return ofHex(text, from + PREFIX_BYTES.length);
  }

  public static Digest of(byte[] bytes) {
    MessageDigest digest = sha256();
    digest.update(bytes);
    return finish(digest);
  }

  /** Ends a running hash. */
  public static Digest finish(MessageDigest digest) {
    return new Digest(digest.digest());
  }

  /** For bytes that come in pieces; ended by {@link #finish}. */
  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }

  /** The bytes of the hash. */
  public byte[] bytes() {
    byte[] hash = new byte[BYTES];
    LONGS.set(hash, 0, first);
    LONGS.set(hash, 8, second);
    LONGS.set(hash, 16, third);
    LONGS.set(hash, 24, fourth);
    return hash;
  }

  /** 64 lower-case hex digits. */
  public String hex() {
    return HexFormat.of().formatHex(bytes());
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Digest that
        && first == that.first
        && second == that.second
        && third == that.third
        && fourth == that.fourth;
  }

  /** Some of its bits are as good as others; an enemy who makes them equal meets the order. */
  @Override
  public int hashCode() {
    return Long.hashCode(first);
  }

  /** The order of the texts, and of the bytes. */
  @Override
  public int compareTo(Digest that) {
    int order = Long.compareUnsigned(first, that.first);
    order = order != 0 ? order : Long.compareUnsigned(second, that.second);
    order = order != 0 ? order : Long.compareUnsigned(third, that.third);
    return order != 0 ? order : Long.compareUnsigned(fourth, that.fourth);
  }

  @Override
  public String toString() {
    return PREFIX + hex();
  }
}
