package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * A body whose sender must not be slower than {@link #LEAST} in a while. Only the time counts in
 * which we wait for bytes: where the disk is what is slow, the sender may take as long. Who is too
 * slow is cut off by {@link #check}, from another thread.
 */
final class Pace extends BufferStream {
  private static final long LEAST = 64 << 10;

  private final BufferStream in;
  private final long patience;
  private final Thread reader = Thread.currentThread();
  private long came;
  private long waited;
  private long waitingSince;
  private boolean tooSlow;

  Pace(BufferStream in, Duration patience) {
    this.in = in;
    this.patience = patience.toNanos();
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    waits();
    int n = -1;
    try {
      n = in.read(into);
      return n;
    } finally {
      has(Math.max(0, n));
    }
  }

  private synchronized void waits() {
    waitingSince = System.nanoTime();
  }

  private synchronized void has(int bytes) {
    if (bytes > 0 && tooSlow) { // At the last moment.
      tooSlow = false;
      boolean _ = Thread.interrupted();
    }
    waited += System.nanoTime() - waitingSince;
    waitingSince = 0;
    came += bytes;
    if (came >= LEAST) {
      came = 0;
      waited = 0;
    }
  }

  /** Cuts the sender off: an interrupt closes the connection that the reader waits for. */
  synchronized void check() {
    long now = waitingSince == 0 ? waited : waited + System.nanoTime() - waitingSince;
    if (now > patience && waitingSince != 0 && !tooSlow) {
      tooSlow = true;
      reader.interrupt();
    }
  }

  /** Cuts the sender off if nothing at all has come for this long; returns whether it is so. */
  synchronized boolean cutIfStill(Duration still) {
    if (waitingSince == 0 || System.nanoTime() - waitingSince < still.toNanos()) {
      return false;
    }
    if (!tooSlow) {
      tooSlow = true;
      reader.interrupt();
    }
    return true;
  }

  synchronized boolean tooSlow() {
    return tooSlow;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
