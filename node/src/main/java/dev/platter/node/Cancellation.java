package dev.platter.node;

import dev.platter.model.PlatterException;

/**
 * Lets ctrl-C end a plan between steps, and inside a long one by interrupting its I/O; what was
 * done is then undone.
 */
public final class Cancellation {
  private Cancellation() {}

  /** Ends the plan if the thread was interrupted. */
  static void check() {
    if (Thread.interrupted()) {
      throw cancelled();
    }
  }

  static PlatterException cancelled() {
    return PlatterException.of(
        PlatterException.Code.CONFLICT,
        "cancelled",
        "What was begun has been undone; nothing is left.");
  }

  /** Runs with the interrupt put aside: a file channel closes itself in an interrupted thread. */
  static void shield(Runnable work) {
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
