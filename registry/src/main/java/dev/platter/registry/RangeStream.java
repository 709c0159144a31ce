package dev.platter.registry;

import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.VerifyingInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Some bytes of a blob. Their number is checked, their digest cannot be: who reads ranges has to
 * know the digests of the parts.
 *
 * <p>Some registries answer with the whole blob. Then {@link #isWhole()} is true, and the reader
 * may take {@link #whole()} rather than lose what is on its way; if it does not, the bytes before
 * the wanted ones are skipped. Asking again for another range would bring the whole again.
 */
public final class RangeStream extends InputStream {
  private final Descriptor blob;
  private final BlobBody body;
  private final boolean whole;
  private long skip;
  private long left;
  private boolean begun;

  /**
   * @param body begins at the first wanted byte or, if {@code whole}, with the blob
   */
  RangeStream(Descriptor blob, BlobBody body, boolean whole, long from, long length) {
    this.blob = blob;
    this.body = body;
    this.whole = whole;
    this.skip = whole ? from : 0;
    this.left = length;
  }

  /** True if the registry sends all of the blob. */
  public boolean isWhole() {
    return whole;
  }

  /**
   * The whole blob from its first byte on, verified by its digest, in place of this stream; only if
   * {@link #isWhole()}, and before anything has been read.
   */
  public InputStream whole() {
    if (!whole || begun) {
      throw new IllegalStateException("only a part is coming, or it has been read from");
    }
    begun = true;
    left = -1;
    return new VerifyingInputStream(body, blob);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    if (left < 0) {
      throw new IllegalStateException("the stream was handed over as a whole");
    }
    if (length == 0) {
      return 0;
    }
    begun = true;
    if (skip > 0) {
      body.skipNBytes(skip);
      skip = 0;
    }
    if (left == 0) {
      return whole ? -1 : body.read();
    }
    int read = body.read(buffer, start, (int) Math.min(length, left));
    left -= read;
    return read;
  }

  @Override
  public void close() throws IOException {
    body.close();
  }
}
