package dev.platter.block.nbd;

import dev.platter.image.raw.RawTarget;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Copies a disk that an NBD server shows, once, to a raw file or a block device. Holes stay holes,
 * and blocks of zeros become holes, whether the server knows of them or not.
 *
 * <p>The disk must not change meanwhile. Interrupting the thread ends a copy with a {@link
 * ClosedByInterruptException}; whoever ends it, no thread of it is left when it returns.
 */
public final class DiskCopy {
  /** qemu-nbd works in one thread; a second of ours writes while the first receives. */
  private static final int MOST_CONNECTIONS = 2;

  private static final long TELL_EVERY_MILLIS = 100;

  private DiskCopy() {}

  /** Where connections to the server come from; each call makes one, from any thread. */
  @FunctionalInterface
  public interface Source {
    NbdClient connect() throws IOException;

    /**
     * The most bytes to ask for at once. QEMU's server takes new memory for each read of 1 MiB, and
     * then each page of it costs more than its bytes; with less it comes out of what was freed.
     */
    default int request() {
      return 256 << 10;
    }

    /** All that is wanted has been read; there may be other things to do before the end. */
    default void finished() {}
  }

  /** Is told how far a copy is, in the thread that called. */
  @FunctionalInterface
  public interface Progress {
    void copied(long bytes, long total);
  }

  /**
   * Makes a file that was not there; after a failure it is not there again.
   *
   * @param atLeast the file is made this large if the disk is smaller
   * @return the size of the file
   */
  public static long toNewFile(Source source, Path file, long atLeast, Progress progress)
      throws IOException {
    RawTarget target = RawTarget.create(file);
    try (target) {
      return copy(source, target, atLeast, progress);
    } catch (Throwable e) {
      Files.deleteIfExists(file);
      throw e;
    }
  }

  /**
   * Fills a target and syncs it.
   *
   * @param atLeast what is past the end of the disk, up to here, becomes zeros
   * @return how much of the target is now written or zero
   * @throws IllegalArgumentException if the target cannot hold as much
   */
  public static long copy(Source source, RawTarget target, long atLeast, Progress progress)
      throws IOException {
    try (NbdClient first = source.connect()) {
      long total = first.size();
      long size = Math.max(total, atLeast);
      target.begin(size);
      if (size > total) {
        target.zero(total, size - total);
      }
      var work = new CopyWork(total, first.canMultiConn() ? MOST_CONNECTIONS : 1);
      run(work, source, first, target, progress);
      source.finished();
      target.force();
      return size;
    }
  }

  private static void run(
      CopyWork work, Source source, NbdClient first, RawTarget target, Progress progress)
      throws IOException {
    var factory = Thread.ofPlatform().name("disk-copy-", 0).daemon().factory();
    try (ExecutorService threads = Executors.newFixedThreadPool(work.workers(), factory)) {
      var finished = new ExecutorCompletionService<@Nullable Void>(threads);
      finished.submit(() -> CopyWorker.run(first, source.request(), work, target));
      for (int i = 1; i < work.workers(); i++) {
        finished.submit(
            () -> {
              try (NbdClient client = source.connect()) {
                return CopyWorker.run(client, source.request(), work, target);
              }
            });
      }
      try {
        await(finished, work, progress);
      } finally {
        threads.shutdownNow(); // closing waits for them
      }
    }
  }

  private static void await(
      ExecutorCompletionService<@Nullable Void> finished, CopyWork work, Progress progress)
      throws IOException {
    try {
      for (int left = work.workers(); left > 0; ) {
        Future<@Nullable Void> one = finished.poll(TELL_EVERY_MILLIS, TimeUnit.MILLISECONDS);
        if (one != null) {
          one.get();
          left--;
        }
        progress.copied(work.done(), work.total());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    }
  }

  private static IOException failure(@Nullable Throwable cause) {
    return switch (cause) {
      case IOException e -> e;
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case null, default -> new IOException(cause);
    };
  }
}
