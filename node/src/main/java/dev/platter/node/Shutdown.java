package dev.platter.node;

import java.time.Duration;
import java.util.UUID;

/**
 * How a running domain is ended: the guest is asked and given time, then the domain is destroyed.
 */
public record Shutdown(Duration grace) {
  public static final Shutdown AT_ONCE = new Shutdown(Duration.ZERO);

  private static final long STEP_MILLIS = 100;
  private static final long ASK_AGAIN_MILLIS = 5_000;

  void end(Hypervisor hypervisor, UUID uuid) {
    var begun = System.nanoTime();
    var asked = Long.MIN_VALUE;
    while (hypervisor.state(uuid) == Hypervisor.DomainState.RUNNING) {
      var passed = (System.nanoTime() - begun) / 1_000_000;
      if (passed >= grace.toMillis()) {
        break;
      }
      // A guest that is still booting misses the first request.
      if (asked == Long.MIN_VALUE || passed - asked >= ASK_AGAIN_MILLIS) {
        hypervisor.shutdown(uuid);
        asked = passed;
      }
      try {
        Thread.sleep(STEP_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        break;
      }
    }
    hypervisor.destroy(uuid);
  }
}
