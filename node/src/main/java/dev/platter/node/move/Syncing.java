package dev.platter.node.move;

import dev.platter.image.qcow2.OverlayAssembly;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Syncs a disk while it is being written, so that little is left to sync at its end. */
final class Syncing implements AutoCloseable {
  private final AtomicBoolean asked = new AtomicBoolean();
  private final Thread thread;
  private volatile boolean closed;
  private volatile @Nullable IOException failure;

  Syncing(OverlayAssembly disk) {
    thread = Thread.ofPlatform().daemon().name("move-sync").start(() -> run(disk));
  }

  /** Something was written; does not wait. */
  void ask() {
    asked.set(true);
    LockSupport.unpark(thread);
  }

  private void run(OverlayAssembly disk) {
    while (!closed) {
      if (asked.getAndSet(false)) {
        try {
          disk.sync();
        } catch (IOException e) {
          failure = e; // The kernel tells it once only.
          return;
        }
      } else {
        LockSupport.park(this);
      }
    }
  }

  @Override
  public void close() throws IOException {
    closed = true;
    LockSupport.unpark(thread);
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    var why = failure;
    if (why != null) {
      throw why;
    }
  }
}
