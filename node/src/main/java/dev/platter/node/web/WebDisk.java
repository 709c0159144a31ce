package dev.platter.node.web;

import dev.platter.block.ReadOnlyDevice;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * A raw file on a web server as a disk that can be read.
 *
 * <p>It is fetched in runs of chunks. A run after one that is here is twice as long, and is begun
 * when the one before is first read: who reads in order soon has few, large requests under way
 * ahead of them, who reads here and there gets little more than what they asked for. Whoever wants
 * a chunk that is on its way waits for that. The runs used last are kept.
 *
 * <p>While the server is away readers wait. A file that is not the one that was opened is an error,
 * whatever was read of it before: bytes of two versions are never mixed.
 */
public final class WebDisk implements ReadOnlyDevice {
  private static final int CHUNK = 256 << 10;
  private static final int LONGEST_RUN = 16;
  private static final int READ_AHEAD_FROM = 4;
  private static final int MOST_CHUNKS = 160;
  private static final long FIRST_PAUSE = 250;
  private static final long LONGEST_PAUSE = 5_000;

  private final Duration patience;
  private final WebVersion version;
  private final Map<Long, Run> chunks = new HashMap<>();
  private final LinkedHashSet<Run> used = new LinkedHashSet<>();
  private int held;
  private volatile WebReader reader;
  private volatile boolean closed;

  /** Chunks that come with one request. Compared as an object. */
  private static final class Run {
    private final long first;
    private final int count;
    private final CompletableFuture<byte[]> bytes = new CompletableFuture<>();

    Run(long first, int count) {
      this.first = first;
      this.count = count;
    }
  }

  private WebDisk(WebReader reader, WebVersion version, Duration patience) {
    this.reader = reader;
    this.version = version;
    this.patience = patience;
  }

  /**
   * @param expected the only version to go on with; null for whatever there is
   * @param patience how long a read waits for a server that is away
   */
  public static WebDisk open(WebAccess access, @Nullable WebVersion expected, Duration patience)
      throws IOException {
    var reader = new WebReader(access);
    try {
      var found = reader.look();
      if (expected != null && !expected.equals(found)) {
        throw changed();
      }
      return new WebDisk(reader, found, patience);
    } catch (IOException | RuntimeException e) {
      reader.close();
      throw e;
    }
  }

  /** Goes on with other secrets for the same file. */
  public void use(WebAccess access) throws IOException {
    var next = new WebReader(access);
    try {
      if (!next.look().equals(version)) {
        throw changed();
      }
      next = exchange(next);
    } finally {
      next.close();
    }
  }

  /** The reader that is of no use any more. */
  private synchronized WebReader exchange(WebReader next) throws IOException {
    if (closed) {
      throw notServed();
    }
    var last = reader;
    reader = next;
    return last;
  }

  private static IOException changed() {
    return new WebRefusal(
        "the file has changed on its server; put back the one before, or begin anew: stop and start"
            + " the VM, or remove it if its disk keeps what it wrote on top of the file");
  }

  private static IOException notServed() {
    return new IOException("the disk is not served any more");
  }

  public WebVersion version() {
    return version;
  }

  @Override
  public long size() {
    return version.size();
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    for (long at = offset; into.hasRemaining(); ) {
      var run = run(at / CHUNK, chunksOf(at, into.remaining()));
      var bytes = await(run);
      int skip = (int) (at - run.first * CHUNK);
      int n = Math.min(into.remaining(), bytes.length - skip);
      into.put(bytes, skip, n);
      at += n;
    }
  }

  @Override
  public synchronized boolean ready(long offset, long length) {
    for (long chunk = offset / CHUNK; chunk * CHUNK < offset + length; chunk++) {
      var run = chunks.get(chunk);
      if (run == null || !run.bytes.isDone()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void fetch(long offset, long length) throws IOException {
    for (long at = offset; at < offset + length; ) {
      var run = run(at / CHUNK, chunksOf(at, offset + length - at));
      await(run);
      at = (run.first + run.count) * CHUNK;
    }
  }

  private static long chunksOf(long offset, long length) {
    return (offset + length - 1) / CHUNK - offset / CHUNK + 1;
  }

  /** The run that has a chunk, which is under way afterwards, as is the next if that will help. */
  private synchronized Run run(long chunk, long wanted) throws IOException {
    if (closed) {
      throw notServed();
    }
    var run = chunks.get(chunk);
    if (run == null) {
      run = begin(chunk, wanted);
    }
    used.remove(run);
    used.add(run);
    long next = run.first + run.count;
    if (run.count >= READ_AHEAD_FROM && next * CHUNK < size() && !chunks.containsKey(next)) {
      begin(next, 1);
    }
    return run;
  }

  private Run begin(long chunk, long wanted) {
    var before = chunks.get(chunk - 1);
    long count = Math.min(LONGEST_RUN, Math.max(wanted, before == null ? 1 : 2L * before.count));
    long end = Math.min(chunk + count, Math.ceilDiv(size(), CHUNK));
    var run = new Run(chunk, until(chunk, end));
    for (int i = 0; i < run.count; i++) {
      chunks.put(chunk + i, run);
    }
    used.add(run);
    held += run.count;
    makeRoom(run);
    Thread.ofVirtual().name("web-disk").start(() -> fetch(run));
    return run;
  }

  /** How many chunks are missing in a row. */
  private int until(long chunk, long end) {
    int count = 1;
    while (chunk + count < end && !chunks.containsKey(chunk + count)) {
      count++;
    }
    return count;
  }

  /** What is under way stays, or it would be asked for twice. */
  private void makeRoom(Run newest) {
    for (Iterator<Run> runs = used.iterator(); held > MOST_CHUNKS && runs.hasNext(); ) {
      var oldest = runs.next();
      if (oldest != newest && oldest.bytes.isDone()) {
        runs.remove();
        drop(oldest);
      }
    }
  }

  private void drop(Run run) {
    for (int i = 0; i < run.count; i++) {
      chunks.remove(run.first + i, run);
    }
    held -= run.count;
  }

  private void fetch(Run run) {
    try {
      long from = run.first * CHUNK;
      int length = (int) Math.min((long) run.count * CHUNK, size() - from);
      run.bytes.complete(patiently(from, length));
    } catch (Throwable e) { // Whatever it is, somebody may wait for the run.
      synchronized (this) {
        if (used.remove(run)) {
          drop(run);
        }
      }
      run.bytes.completeExceptionally(e);
    }
  }

  private byte[] patiently(long from, int length) throws IOException {
    long begun = System.nanoTime();
    for (long pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        var part = reader.get(from, length);
        if (!part.version().equals(version)) {
          throw changed();
        }
        return part.bytes();
      } catch (WebReader.Away e) {
        if (closed || System.nanoTime() - begun > patience.toNanos()) {
          throw e;
        }
        sleep(pause);
      }
    }
  }

  private static void sleep(long millis) throws IOException {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for a web server");
    }
  }

  /** A new exception for each: many may wait for the same run. */
  private static byte[] await(Run run) throws IOException {
    try {
      return run.bytes.join();
    } catch (CompletionException e) {
      var cause = e.getCause();
      throw new IOException(cause == null ? e.getMessage() : cause.getMessage(), cause);
    }
  }

  /** Whoever waits for the server gets an error. */
  @Override
  public synchronized void close() {
    closed = true;
    reader.close();
    used.forEach(run -> run.bytes.completeExceptionally(notServed()));
  }
}
