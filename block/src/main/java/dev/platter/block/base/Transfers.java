package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.registry.RangeStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Brings bytes of a layer into the spool. A byte that is on its way is not asked for again: who
 * wants it waits for the transfer that brings it, whoever began that.
 *
 * <p>A transfer that fails is tried again until it succeeds or everything is closed, whatever the
 * failure: a registry that is down, forbids or has forgotten the layer may be put right while a
 * guest waits. A registry that sends the whole layer instead of a range is listened to once:
 * everything that passes is kept, and all others wait for that.
 */
final class Transfers implements Closeable {
  private static final int DEMANDS = 8;
  private static final int BUFFER = 64 << 10;
  private static final long MOST_IN_ONE_REQUEST = 4 << 20;
  private static final long FIRST_PAUSE_MILLIS = 100;
  private static final long LONGEST_PAUSE_MILLIS = 5_000;
  private static final long LONGEST_COURTESY_MILLIS = 1000;
  private static final long REST_MILLIS = 25;

  private enum Kind {
    DEMAND,
    BACKGROUND
  }

  private static final class Transfer {
    final Kind kind;
    long at;
    long end;
    long restAfter = Long.MAX_VALUE;
    boolean whole;
    int lies;

    Transfer(Kind kind, Range range) {
      this.kind = kind;
      this.at = range.from();
      this.end = range.to();
    }
  }

  private final BlobSource source;
  private final Descriptor layer;
  private final Spool spool;
  private final Progress progress;
  private final Semaphore demands = new Semaphore(DEMANDS);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final List<Transfer> active = new ArrayList<>();
  private final List<List<Range>> demanded = new ArrayList<>();
  private @Nullable BadImageException bad;
  private final Stop stop = new Stop();
  private boolean closed;

  Transfers(BlobSource source, Descriptor layer, Spool spool, Progress progress) {
    this.source = source;
    this.layer = layer;
    this.spool = spool;
    this.progress = progress;
  }

  /** Returns when the spool has these bytes; neighbours come by one request. */
  void demand(Ranges wanted) throws IOException {
    if (!wanted.isEmpty()) {
      await(wanted.list(), Kind.DEMAND);
    }
  }

  /** Returns when the spool has what is on its way, for somebody who can wait. */
  void follow(Range wanted) throws IOException {
    await(List.of(wanted), Kind.BACKGROUND);
  }

  /** The same, and lets those go first who cannot wait, for a while. */
  void whenIdle(Range wanted) throws IOException {
    lock.lock();
    try {
      long left = TimeUnit.MILLISECONDS.toNanos(LONGEST_COURTESY_MILLIS);
      while (left > 0 && !closed && active.stream().anyMatch(t -> t.kind == Kind.DEMAND)) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("threads of a base must not be interrupted", e);
    } finally {
      lock.unlock();
    }
    follow(wanted);
  }

  /**
   * Begins one request for all that is missing in a range, from the first byte to the last. Once
   * the head of it is here, who waited for that has the processors for a moment.
   */
  void begin(Range range, long head) {
    lock.lock();
    try {
      Ranges wanted = missing(List.of(range));
      if (!wanted.isEmpty() && !closed) {
        List<Range> runs = wanted.list();
        var all = new Range(runs.getFirst().from(), runs.getLast().to());
        var transfer = new Transfer(Kind.BACKGROUND, all);
        transfer.restAfter = head;
        start(transfer);
      }
    } finally {
      lock.unlock();
    }
  }

  private void await(List<Range> wanted, Kind kind) throws IOException {
    lock.lock();
    try {
      if (kind == Kind.DEMAND) {
        demanded.add(wanted);
        changed.signalAll();
      }
      while (!isHere(wanted)) {
        throwIfOver();
        for (Range run : missing(wanted).list()) {
          for (long at = run.from(); at < run.to(); at += MOST_IN_ONE_REQUEST) {
            var part = new Range(at, Math.min(run.to(), at + MOST_IN_ONE_REQUEST));
            start(new Transfer(kind, part));
          }
        }
        changed.awaitUninterruptibly();
      }
    } finally {
      demanded.remove(wanted);
      lock.unlock();
    }
  }

  private boolean isHere(List<Range> wanted) {
    return wanted.stream().allMatch(spool::has);
  }

  /** What is neither there nor on its way. */
  private Ranges missing(List<Range> wanted) {
    Ranges missing = new Ranges();
    wanted.forEach(range -> missing.addAll(spool.missing(range)));
    for (Transfer transfer : active) {
      if (transfer.at < transfer.end) {
        missing.remove(new Range(transfer.at, transfer.end));
      }
    }
    return missing;
  }

  private void throwIfOver() throws IOException {
    if (bad != null) {
      throw new BadImageException(String.valueOf(bad.getMessage()), bad);
    }
    if (closed) {
      throw new IOException("the base was closed while layer " + layer.digest() + " was fetched");
    }
  }

  private void start(Transfer transfer) {
    active.add(transfer);
    Thread.ofVirtual().name("fetch-" + transfer.at).start(() -> run(transfer));
  }

  private void run(Transfer transfer) {
    boolean demand = transfer.kind == Kind.DEMAND;
    if (demand) {
      demands.acquireUninterruptibly();
    }
    try {
      long pause = FIRST_PAUSE_MILLIS;
      while (!isClosed()) {
        long before = transfer.at;
        try {
          pump(transfer);
          progress.recovered();
          return;
        } catch (IOException | RuntimeException e) {
          failed(transfer, e);
          pause = transfer.at > before ? FIRST_PAUSE_MILLIS : pause;
          if (stop.within(TimeUnit.MILLISECONDS.toNanos(pause))) {
            return;
          }
          pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
        }
      }
    } finally {
      if (demand) {
        demands.release();
      }
      lock.lock();
      try {
        active.remove(transfer);
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }

  private void pump(Transfer transfer) throws IOException {
    try (InputStream in = open(transfer)) {
      byte[] buffer = new byte[BUFFER];
      while (in != null && transfer.at < transfer.end) {
        int n = in.read(buffer, 0, (int) Math.min(BUFFER, transfer.end - transfer.at));
        if (n < 0) {
          throw new EOFException("layer " + layer.digest() + " ends at byte " + transfer.at);
        }
        progress.fetched.addAndGet(n);
        spool.keep(transfer.at, buffer, n);
        advance(transfer, n);
        if (transfer.at >= transfer.restAfter) {
          rest(transfer);
        }
      }
    }
  }

  /**
   * Lets those go on who wait for the head, until somebody demands what is not here. What the
   * registry sends meanwhile is kept by the kernel.
   */
  private void rest(Transfer transfer) {
    transfer.restAfter = Long.MAX_VALUE;
    lock.lock();
    try {
      long left = TimeUnit.MILLISECONDS.toNanos(REST_MILLIS);
      while (left > 0 && !closed && demanded.stream().allMatch(this::isHere)) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("threads of a base must not be interrupted", e);
    } finally {
      lock.unlock();
    }
  }

  /** Null if another transfer has the whole layer coming. */
  private @Nullable InputStream open(Transfer transfer) throws IOException {
    InputStream in = source.open(layer, transfer.at, transfer.end - transfer.at);
    if (!(in instanceof RangeStream range && range.isWhole())) {
      return in;
    }
    lock.lock();
    try {
      if (active.stream().anyMatch(t -> t.whole && t != transfer)) {
        range.close();
        return null;
      }
      transfer.whole = true;
      transfer.at = 0;
      transfer.end = layer.size();
    } finally {
      lock.unlock();
    }
    return range.whole();
  }

  private void advance(Transfer transfer, int bytes) throws IOException {
    lock.lock();
    try {
      transfer.at += bytes;
      changed.signalAll();
      throwIfOver();
    } finally {
      lock.unlock();
    }
  }

  private void failed(Transfer transfer, Exception e) {
    lock.lock();
    try {
      if (!closed) {
        progress.failed(e);
      }
      // Only the digest of the whole is a proof; a range that comes out wrong may be a bad proxy.
      if (transfer.whole && e instanceof BadImageException refused && ++transfer.lies > 1) {
        bad = refused;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private boolean isClosed() {
    lock.lock();
    try {
      return closed || bad != null;
    } finally {
      lock.unlock();
    }
  }

  /** Those who wait fail at once; a transfer ends when its connection next says something. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      stop.give();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
