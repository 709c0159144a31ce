package dev.platter.image.seekable;

import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.security.MessageDigest;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Turns pieces of a tar into gzip members: packed and hashed by several threads, written in the
 * order in which they came, so that the number of threads does not show. At most two pieces a
 * thread are in memory, and one more.
 */
final class MemberWriter implements AutoCloseable {
  /** Learns where a piece went. */
  @FunctionalInterface
  interface Placed {
    void at(long blobOffset, int blobLength, Digest plain);
  }

  private static final class Packed {
    private final byte[] member;
    private final Digest plain;

    Packed(byte[] bytes) {
      this.member = GzipMember.of(bytes);
      this.plain = Digest.of(bytes);
    }
  }

  private record Pending(Future<Packed> packed, Placed placed) {}

  private final OutputStream out;
  private final int maxPending;
  private final ExecutorService pool;
  private final Queue<Pending> pending = new ArrayDeque<>();
  private final MessageDigest blobHash = Digest.sha256();
  private final MessageDigest tarHash = Digest.sha256();
  private long blobSize;
  private long tarSize;

  MemberWriter(OutputStream out, int threads) {
    this.out = out;
    this.maxPending = 2 * threads;
    this.pool =
        Executors.newFixedThreadPool(threads, Thread.ofPlatform().name("layer-", 0).factory());
  }

  /** Adds a piece, which must not change any more. */
  void add(byte[] plain, Placed placed) throws IOException {
    tarHash.update(plain);
    tarSize += plain.length;
    pending.add(new Pending(pool.submit(() -> new Packed(plain)), placed));
    if (pending.size() > maxPending) {
      writeNext();
    }
  }

  /** Writes whatever is still pending; returns the size of the blob so far. */
  long flush() throws IOException {
    while (!pending.isEmpty()) {
      writeNext();
    }
    return blobSize;
  }

  /** Writes bytes that are a member already, with no content. */
  void addEmptyMember(byte[] member) throws IOException {
    flush();
    write(member);
  }

  /** Of all that was written; ends the writer. */
  Digest blobDigest() {
    return Digest.finish(blobHash);
  }

  /** Of all that was added; ends the writer. */
  Digest tarDigest() {
    return Digest.finish(tarHash);
  }

  long tarSize() {
    return tarSize;
  }

  private void writeNext() throws IOException {
    Pending next = pending.remove();
    Packed packed = get(next.packed);
    long offset = blobSize;
    write(packed.member);
    next.placed.at(offset, packed.member.length, packed.plain);
  }

  private void write(byte[] member) throws IOException {
    out.write(member);
    blobHash.update(member);
    blobSize += member.length;
  }

  private static Packed get(Future<Packed> packed) throws IOException {
    try {
      return packed.get();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case Error error -> throw error;
        case null, default -> throw new IOException("a piece of the layer cannot be packed", e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a layer was written");
    }
  }

  @Override
  public void close() {
    pool.shutdownNow();
    pool.close();
  }
}
