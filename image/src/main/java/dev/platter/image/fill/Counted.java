package dev.platter.image.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.BufferStream;
import dev.platter.image.Digest;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Counts and hashes a file as it comes. */
final class Counted extends BufferStream {
  private final BufferStream in;
  private final FileDigest sha = new DigestAside(FileDigest::start);
  private final LongConsumer progress;
  private long count;

  Counted(InputStream in, LongConsumer progress) {
    this.in = BufferStream.of(in);
    this.progress = progress;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int from = into.position();
    int n = in.read(into);
    if (n > 0) {
      sha.update(into.slice(from, n));
      count += n;
      progress.accept(count);
    }
    return n;
  }

  long count() {
    return count;
  }

  /**
   * Reads what is left of it.
   *
   * @param length how many bytes there must have been, -1 if that is not known
   */
  void finish(long length) throws IOException {
    transferTo(OutputStream.nullOutputStream());
    if (length >= 0 && count != length) {
      throw new EOFException("%d bytes were announced, %d have come".formatted(length, count));
    }
  }

  Digest digest() {
    return sha.finish();
  }

  /** Refuses what is not what was meant. */
  static void require(@Nullable Digest expected, Digest found) throws BadImageException {
    if (expected != null && !expected.equals(found)) {
      throw new BadImageException("the file has the digest " + found + ", not " + expected);
    }
  }

  @Override
  public void close() throws IOException {
    sha.close();
    in.close();
  }
}
