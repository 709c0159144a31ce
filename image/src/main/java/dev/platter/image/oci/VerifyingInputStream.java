package dev.platter.image.oci;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/**
 * Passes on exactly the bytes that a descriptor names, or fails.
 *
 * <p>The check happens before the last byte is handed over, so that a reader that stops there has
 * not been cheated. A stream that goes on after its last byte is refused at once, not drained.
 */
public final class VerifyingInputStream extends InputStream {
  private final InputStream in;
  private final Descriptor expected;
  private final MessageDigest digest = Digest.sha256();
  private long count;
  private @Nullable Digest found;

  public VerifyingInputStream(InputStream in, Descriptor expected) {
    this.in = in;
    this.expected = expected;
  }

  /** All of a small blob, of at most {@code max} bytes. */
  public static byte[] readAll(InputStream in, Descriptor expected, int max) throws IOException {
    if (expected.size() > max) {
      throw new BadImageException(
          expected.digest() + " has " + expected.size() + " bytes, more than the limit of " + max);
    }
    try (var verifying = new VerifyingInputStream(in, expected)) {
      return verifying.readAllBytes();
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (count == expected.size()) {
      verify();
      return -1;
    }
    int read = in.read(buffer, start, (int) Math.min(length, expected.size() - count));
    if (read < 0) {
      throw new BadImageException(
          expected.digest() + " ends after " + count + " of " + expected.size() + " bytes");
    }
    digest.update(buffer, start, read);
    count += read;
    if (count == expected.size()) {
      verify();
    }
    return read;
  }

  private void verify() throws IOException {
    if (found == null && in.read() >= 0) {
      throw new BadImageException(
          expected.digest() + " goes on after its " + expected.size() + " bytes");
    }
    found = found == null ? Digest.finish(digest) : found;
    if (!found.equals(expected.digest())) {
      throw new BadImageException(
          "asked for " + expected.digest() + ", got bytes with digest " + found);
    }
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
