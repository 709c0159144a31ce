package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Asks again and again until something is so. */
final class Waiting {
  private static final long POLL_MILLIS = 5;

  private Waiting() {}

  /** Not cut short by an interrupt, which may be why there is something to wait for. */
  static void until(Duration patience, String otherwise, BooleanSupplier so) {
    var end = System.nanoTime() + patience.toNanos();
    while (!so.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw PlatterException.of(
            Code.UNAVAILABLE, otherwise + " in " + patience.toSeconds() + " s", "");
      }
      Cancellation.shield(Waiting::pause);
    }
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
