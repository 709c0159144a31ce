package dev.platter.image.qcow2;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.RawTarget;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.BitSet;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes the whole disk into a raw file. First one thread shares what can be shared. What is left
 * is cut into segments; each thread takes the next one, reads the part of the tables it needs,
 * reads or unpacks, and writes at the segment's place. Nothing is queued and nothing is handed
 * over, so memory is that of the workspaces alone, and the writes advance through the file nearly
 * in order. The first failure stops the other threads at their next segment.
 */
final class RawExport {
  /** A multiple of every cluster size, large enough for long runs, small enough to share out. */
  private static final long SEGMENT = 4 << 20;

  /** What is shared at once; a multiple of a segment. One that needs no more is told of. */
  private static final long STRETCH = 1 << 30;

  private final Tables tables;
  private final @Nullable NativeFile file;
  private final RawTarget target;
  private final LongConsumer progress;
  private final long size;

  private final Object lock = new Object();
  private long next;
  private long done;
  private boolean failed;

  private final BitSet shared = new BitSet();
  private long sharedTo;

  /**
   * @param file the image, if it is a file
   * @param target that has begun
   */
  RawExport(Tables tables, @Nullable NativeFile file, RawTarget target, LongConsumer progress) {
    this.tables = tables;
    this.file = file;
    this.target = target;
    this.progress = progress;
    this.size = tables.header.virtualSize();
  }

  void run(int threads) throws IOException {
    if (file != null) {
      share(new ExtentShare(tables, file, target));
    }
    if (done < size) {
      copy(threads);
    }
  }

  private void share(ExtentShare share) throws IOException {
    ExtentWalk walk = new ExtentWalk(tables);
    for (long from = 0; from < size && share.works(); from += STRETCH) {
      long to = Math.min(size, from + STRETCH);
      if (share.isEnough(walk, from, to)) {
        shared.set(Math.toIntExact(from / STRETCH));
        report(to - from);
      }
    }
    sharedTo = share.end();
  }

  private void copy(int threads) throws IOException {
    int useful = Math.clamp(Math.ceilDiv(size, SEGMENT), 1, threads);
    Callable<Void> lane =
        () -> {
          copySegments();
          return null;
        };
    try (ExecutorService pool =
        Executors.newFixedThreadPool(useful, Thread.ofPlatform().name("qcow2-", 0).factory())) {
      for (Future<Void> f : pool.invokeAll(Collections.nCopies(useful, lane))) {
        f.get();
      }
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case IOException io -> throw io;
        case RuntimeException runtime -> throw runtime;
        case Error error -> throw error;
        case null, default -> throw new IOException(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while copying a qcow2 image");
    }
  }

  private void copySegments() throws IOException {
    boolean finished = false;
    try (Workspace workspace = new Workspace(tables)) {
      ExtentCopy copy = new ExtentCopy(tables, file, workspace, target, sharedTo);
      for (long from = take(); from < size; from = take()) {
        long to = Math.min(size, from + SEGMENT);
        workspace.walk.walk(from, to, copy);
        copy.flush();
        report(to - from);
      }
      finished = true;
    } finally {
      if (!finished) {
        synchronized (lock) {
          failed = true;
        }
      }
    }
  }

  private long take() {
    synchronized (lock) {
      if (failed) {
        return size;
      }
      while (next < size && shared.get((int) (next / STRETCH))) {
        next += STRETCH;
      }
      long from = next;
      next += SEGMENT;
      return from;
    }
  }

  private void report(long bytes) {
    synchronized (lock) {
      done += bytes;
      progress.accept(done);
    }
  }
}
