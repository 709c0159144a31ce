package dev.platter.node.image;

import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Resolved;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Asks for the front of a layer before it is known what is in it, at the same time as for its table
 * of contents: that saves a round trip before a guest can read its first block. Whoever then asks
 * for exactly these bytes gets the answer that is on its way.
 */
final class EarlyPrefix implements BlobSource, Closeable {
  /**
   * The table is small and nothing goes on without it: behind the front of a layer it would wait
   * for as much of that as the network holds.
   */
  private static final long HEAD_START_NANOS = 1_000_000;

  private final BlobSource source;
  private final Descriptor layer;
  private final long length;
  private @Nullable CompletableFuture<InputStream> coming;

  EarlyPrefix(BlobSource source, Descriptor layer, long length) {
    this.source = source;
    this.layer = layer;
    this.length = length;
    var answer = new CompletableFuture<InputStream>();
    this.coming = answer;
    Thread.ofVirtual()
        .name("prefix")
        .start(
            () -> {
              LockSupport.parkNanos(HEAD_START_NANOS);
              try {
                answer.complete(source.open(layer, 0, length));
              } catch (IOException | RuntimeException e) {
                answer.completeExceptionally(e);
              }
            });
  }

  @Override
  public Resolved resolve(String tagOrDigest, Platform platform) throws IOException {
    return source.resolve(tagOrDigest, platform);
  }

  @Override
  public InputStream open(Descriptor blob) throws IOException {
    return source.open(blob);
  }

  @Override
  public InputStream open(Descriptor blob, long from, long bytes) throws IOException {
    var answer =
        blob.digest().equals(layer.digest()) && from == 0 && bytes == length ? take() : null;
    if (answer == null) {
      return source.open(blob, from, bytes);
    }
    try {
      return answer.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof IOException cause) {
        throw cause;
      }
      throw e;
    }
  }

  private synchronized @Nullable CompletableFuture<InputStream> take() {
    var taken = coming;
    coming = null;
    return taken;
  }

  /** Lets go of an answer that nobody took. */
  @Override
  public void close() {
    var left = take();
    if (left != null) {
      var _ = left.whenComplete((stream, _) -> quietly(stream));
    }
  }

  private static void quietly(@Nullable InputStream stream) {
    try {
      if (stream != null) {
        stream.close();
      }
    } catch (IOException e) {
      // It was of no use anyway.
    }
  }
}
