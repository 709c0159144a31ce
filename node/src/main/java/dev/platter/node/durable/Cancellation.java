package dev.platter.node.durable;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;

/**
 * Lets ctrl-C end a plan between steps, and inside a long one by interrupting its I/O; what was
 * done is then undone.
 */
public final class Cancellation {
  private Cancellation() {}

  /** Ends the work if the thread was interrupted. */
  public static void check() {
    if (Thread.currentThread().isInterrupted()) {
      throw cancelled();
    }
  }

  public static PlatterException cancelled() {
    return PlatterException.of(
        Code.CONFLICT,
        "cancelled",
        "What was begun is undone; 'platter ps --all' shows what there is.");
  }

  /** Runs with the interrupt put aside: a file channel closes itself in an interrupted thread. */
  public static void shield(Runnable work) {
    var interrupted = Thread.interrupted();
    try {
      work.run();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
