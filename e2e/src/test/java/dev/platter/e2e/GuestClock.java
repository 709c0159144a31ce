package dev.platter.e2e;

import java.time.Instant;
import java.util.List;

/**
 * When a guest did what its own clock says. That clock may run ten times too fast: an emulated
 * processor on a busy machine is measured badly by its kernel. So its speed is taken from the time
 * that passed between the first and the last line of its console. Lines may come late, never early:
 * the one that was least late says when the guest was started.
 */
final class GuestClock {
  private final Instant began;
  private final double speed;

  /**
   * @param boot what the console said, in order; at least one
   */
  GuestClock(List<Consoles.Said> boot) {
    var first = boot.getFirst();
    var last = boot.getLast();
    var ticks = last.written().clock() - first.written().clock();
    var passed = last.at().toEpochMilli() - first.at().toEpochMilli();
    speed = ticks <= 0 ? 10 : (double) passed / ticks;
    began =
        Instant.ofEpochMilli(
            boot.stream()
                .mapToLong(one -> one.at().toEpochMilli() - sinceStart(one.written()))
                .min()
                .orElseThrow());
  }

  private long sinceStart(Written written) {
    return (long) (written.clock() * speed);
  }

  Instant time(Written written) {
    return began.plusMillis(sinceStart(written));
  }
}
