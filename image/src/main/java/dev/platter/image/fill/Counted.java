package dev.platter.image.fill;

import dev.platter.image.Digest;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongConsumer;

/** Counts and hashes a file as it comes. */
final class Counted extends FilterInputStream {
  private final FileDigest sha = new DigestAside(FileDigest.start());
  private final LongConsumer progress;
  private long count;

  Counted(InputStream in, LongConsumer progress) {
    super(in);
    this.progress = progress;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    int n = super.read(into, from, length);
    if (n > 0) {
      sha.update(into, from, n);
      count += n;
      progress.accept(count);
    }
    return n;
  }

  long count() {
    return count;
  }

  Digest digest() {
    return sha.finish();
  }

  @Override
  public void close() throws IOException {
    sha.close();
    super.close();
  }
}
