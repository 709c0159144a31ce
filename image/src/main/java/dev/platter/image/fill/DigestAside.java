package dev.platter.image.fill;

import dev.platter.image.Digest;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A digest that is made by a thread of its own, while whoever reads the file unpacks and writes it:
 * to hash a file that is not packed takes as long as all else that is done with it.
 *
 * <p>There are two pieces. One is filled while the other is hashed, and who is ahead waits.
 */
final class DigestAside implements FileDigest {
  private static final int PIECE = 512 << 10;

  private final FileDigest digest;
  private final ExecutorService aside =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().name("digest").daemon().factory());
  private CompletableFuture<Void> hashed = CompletableFuture.completedFuture(null);
  private byte[] piece = new byte[PIECE];
  private byte[] other = new byte[PIECE];
  private int length;
  private boolean closed;

  /**
   * @param digest is closed with this one
   */
  DigestAside(FileDigest digest) {
    this.digest = digest;
  }

  @Override
  public void update(byte[] bytes, int from, int count) {
    requireOpen();
    for (int done = 0; done < count; ) {
      int n = Math.min(PIECE - length, count - done);
      System.arraycopy(bytes, from + done, piece, length, n);
      length += n;
      done += n;
      if (length == PIECE) {
        pass();
      }
    }
  }

  private void pass() {
    hashed.join();
    byte[] full = piece;
    int count = length;
    hashed = CompletableFuture.runAsync(() -> digest.update(full, 0, count), aside);
    piece = other;
    other = full;
    length = 0;
  }

  @Override
  public Digest finish() {
    requireOpen();
    pass();
    hashed.join();
    return digest.finish();
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the digest is closed");
    }
  }

  /** Nothing is hashed any more when this returns, since memory of a library is given back. */
  @Override
  public void close() {
    closed = true;
    aside.close();
    digest.close();
  }
}
