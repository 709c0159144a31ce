package dev.platter.image.fill;

import dev.platter.image.Digest;
import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A digest that is made by a thread of its own, while whoever reads the file unpacks and writes it:
 * to hash a file that is not packed takes as long as all else that is done with it.
 *
 * <p>There are some pieces, which go round: so neither waits for the other because that one had to
 * wait for the network, the disk or a processor, but only where it is slower for long.
 */
final class DigestAside implements FileDigest {
  private static final int PIECE = 256 << 10;
  private static final int PIECES = 8;

  private final Supplier<FileDigest> start;
  private final ExecutorService aside =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().name("digest").daemon().factory());
  private final BlockingQueue<ByteBuffer> idle = new ArrayBlockingQueue<>(PIECES);
  private final CompletableFuture<Void> failed = new CompletableFuture<>();
  private @Nullable FileDigest digest; // The thread's, until it has ended.
  private ByteBuffer piece = ByteBuffer.allocateDirect(PIECE);
  private boolean closed;

  /**
   * @param start makes the digest, in its thread: to load a library takes a while
   */
  DigestAside(Supplier<FileDigest> start) {
    this.start = start;
    for (int i = 1; i < PIECES; i++) {
      idle.add(ByteBuffer.allocateDirect(PIECE));
    }
  }

  @Override
  public void update(ByteBuffer bytes) {
    requireOpen();
    while (bytes.hasRemaining()) {
      int n = Math.min(piece.remaining(), bytes.remaining());
      piece.put(bytes.slice(bytes.position(), n));
      bytes.position(bytes.position() + n);
      if (!piece.hasRemaining()) {
        pass();
      }
    }
  }

  private void pass() {
    ByteBuffer full = piece.flip();
    aside.execute(() -> hash(full));
    piece = next();
  }

  private void hash(ByteBuffer full) {
    try {
      digest().update(full);
    } catch (Throwable e) { // Whatever it is, there is no digest then.
      failed.completeExceptionally(e);
    } finally {
      idle.add(full.clear());
    }
  }

  private FileDigest digest() {
    var made = digest == null ? start.get() : digest;
    digest = made;
    return made;
  }

  /** Hashing a piece takes no longer than a moment, so an interrupt is left to who reads. */
  private ByteBuffer next() {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return idle.take();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public Digest finish() {
    requireOpen();
    pass();
    for (int i = 1; i < PIECES; i++) {
      next();
    }
    if (failed.isDone()) {
      failed.join();
    }
    return digest().finish(); // The last piece that came back came after all that was done with it.
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
    if (digest != null) {
      digest.close();
    }
  }
}
