package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Hypervisor.DomainState;
import java.time.Duration;
import java.util.UUID;

/**
 * How long a guest may take to power off when it is asked to. One that stands still since a disk
 * failed is let go on as well: there may be room by now, and nobody else does it meanwhile.
 */
record Shutdown(Duration grace) {
  private static final long STEP_MILLIS = 100;
  private static final long ASK_AGAIN_MILLIS = 5_000;

  /** Returns when the guest has ended or its time is over. */
  void ask(Hypervisor hypervisor, UUID uuid) {
    var begun = System.nanoTime();
    var asked = Long.MIN_VALUE;
    while (true) {
      var state = hypervisor.state(uuid);
      var stalled = state == DomainState.PAUSED && hypervisor.isStalled(uuid);
      if (state != DomainState.RUNNING && !stalled) {
        return;
      }
      var passed = (System.nanoTime() - begun) / 1_000_000;
      if (passed >= grace.toMillis()) {
        return;
      }
      // A guest that is still booting misses the first request.
      if (asked == Long.MIN_VALUE || passed - asked >= ASK_AGAIN_MILLIS) {
        if (!stalled || hypervisor.resumeAfterError(uuid)) {
          hypervisor.shutdown(uuid);
        }
        asked = passed;
      }
      try {
        Thread.sleep(STEP_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw PlatterException.of(
            Code.CONFLICT, "cancelled", "The guest was asked to power off and may do so.", e);
      }
    }
  }
}
