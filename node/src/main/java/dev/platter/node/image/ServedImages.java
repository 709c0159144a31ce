package dev.platter.node.image;

import dev.platter.block.nbd.NbdServer;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The images that are open, each an export under its digest. Whoever asks for one that somebody is
 * opening waits for the same; others do not wait for it.
 */
final class ServedImages implements AutoCloseable {
  private static final long AGAIN_MILLIS = 5_000;
  private static final Duration BETWEEN_MENDS = Duration.ofSeconds(10);

  private final ImageStore store;
  private final NbdServer nbd;
  private final Consumer<ImageRecord> ended;
  private final Map<String, CompletableFuture<ServedImage>> images = new HashMap<>();
  private final Map<String, Long> mended = new ConcurrentHashMap<>();
  private boolean closed;

  /**
   * @param ended is told of an image that was sealed or put in quarantine
   */
  ServedImages(ImageStore store, NbdServer nbd, Consumer<ImageRecord> ended) {
    this.store = store;
    this.nbd = nbd;
    this.ended = ended;
  }

  ServedImage serve(String reference, String digest, ImageLogins logins, byte @Nullable [] manifest)
      throws IOException {
    var image = new CompletableFuture<ServedImage>();
    CompletableFuture<ServedImage> there;
    synchronized (this) {
      if (closed) {
        throw new IOException("the daemon is ending");
      }
      there = images.putIfAbsent(digest, image);
    }
    if (there != null) {
      return await(there);
    }
    try {
      var opened = store.open(reference, digest, logins, manifest);
      var served = new ServedImage(opened);
      nbd.add(digest, served);
      image.complete(served);
      opened.whenEnded(ended);
      return served;
    } catch (IOException | RuntimeException | Error e) {
      synchronized (this) {
        images.remove(digest);
      }
      image.completeExceptionally(e);
      throw e;
    }
  }

  private static ServedImage await(CompletableFuture<ServedImage> image) throws IOException {
    try {
      return image.join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case IOException cause -> throw new IOException(cause.getMessage(), cause);
        case PlatterException cause -> throw cause;
        case null, default -> throw e;
      }
    }
  }

  /**
   * Opens an image that guests had before the daemon was ended: they wait for it, so it is tried
   * until it works. The others do not wait for one whose registry is away.
   */
  void reopen(ImageRecord image) {
    Thread.ofPlatform()
        .name("reopen")
        .daemon()
        .start(
            () -> {
              while (!isClosed()) {
                try {
                  serve(image.reference(), image.digest(), ImageLogins.NONE, null);
                  return;
                } catch (IOException | UncheckedIOException | PlatterException e) {
                  System.err.println(
                      "cannot serve " + image.reference() + " yet: " + e.getMessage());
                  pause();
                }
              }
            });
  }

  /**
   * Opens anew what cannot be read any more although nothing is known to be wrong with it. Its
   * guests are cut off, and connect again until it is there; without any, the next one opens it.
   */
  void mend() throws IOException {
    for (var image : open()) {
      if (image.image().isCut() && mayMend(image.image().record().digest())) {
        var record = image.image().record();
        var used = store.isUsed(record.digest());
        remove(record.digest());
        if (used) {
          reopen(record);
        }
      }
    }
  }

  /** One that is cut again and again is not read from its start all the time. */
  private boolean mayMend(String digest) {
    var now = System.nanoTime();
    var last = mended.get(digest);
    if (last != null && now - last < BETWEEN_MENDS.toNanos()) {
      return false;
    }
    mended.put(digest, now);
    return true;
  }

  private static void pause() {
    try {
      Thread.sleep(AGAIN_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  synchronized Optional<ServedImage> find(String digest) {
    var image = images.get(digest);
    return image == null || !image.isDone() || image.isCompletedExceptionally()
        ? Optional.empty()
        : Optional.of(image.join());
  }

  synchronized List<ServedImage> open() {
    var out = new ArrayList<ServedImage>();
    List.copyOf(images.keySet()).forEach(digest -> find(digest).ifPresent(out::add));
    return out;
  }

  void remove(String digest) throws IOException {
    Optional<ServedImage> gone;
    synchronized (this) {
      gone = find(digest);
      images.remove(digest);
    }
    if (gone.isPresent()) {
      nbd.remove(digest);
      gone.get().image().close();
    }
  }

  @Override
  public void close() throws IOException {
    List<ServedImage> all;
    synchronized (this) {
      closed = true;
      all = open();
      images.clear();
    }
    for (var image : all) {
      image.image().close();
    }
  }
}
