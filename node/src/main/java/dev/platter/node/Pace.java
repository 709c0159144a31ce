package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.OutgoingQemu.Copying;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Tells a move that takes long from one that comes to no end: a guest that writes faster than it is
 * sent would be on its way for ever, and QEMU slows it down all the while. The limits are those of
 * KubeVirt.
 *
 * <ul>
 *   <li>All of it may take so long for each GiB of memory and of the disks that are copied.
 *   <li>Some byte has to move.
 *   <li>It has to come nearer: less is left than ever before, or QEMU slows the guest down more
 *       than before. Memory is sent in rounds, of which each ends with next to nothing left and is
 *       followed by what the guest wrote meanwhile; so only what is left when one begins is
 *       compared, and one round that was no better says nothing.
 * </ul>
 */
final class Pace {
  private static final Duration STALLED = Duration.ofMinutes(2);
  private static final Duration NO_NEARER = Duration.ofSeconds(150);
  private static final int ROUNDS = 3;
  private static final int GIB_BITS = 30;

  private final Duration limit;
  private final LongSupplier clock;
  private final long begun;

  /**
   * @param size of what is sent
   * @param perGib how long each GiB of it may take; what is less counts as one
   * @param clock in nanoseconds
   */
  Pace(long size, Duration perGib, LongSupplier clock) {
    this.limit = perGib.multipliedBy(Math.max(1, ((size - 1) >> GIB_BITS) + 1));
    this.clock = clock;
    this.begun = clock.getAsLong();
  }

  /** A part of it that is sent from now on. */
  Part part(String what) {
    return new Part(what);
  }

  final class Part {
    private final String what;
    private long passed;
    private long moved = clock.getAsLong();
    private long least = Long.MAX_VALUE;
    private int slowed = -1;
    private int rounds;
    private long nearer = moved;

    private Part(String what) {
      this.what = what;
    }

    /**
     * Fails if it comes to no end.
     *
     * @param bytes that have passed so far
     */
    void look(Copying copying, long bytes) {
      var now = clock.getAsLong();
      if (bytes != passed) {
        passed = bytes;
        moved = now;
      }
      if (copying.mark()) {
        compare(copying, now);
      }
      if (now - moved > STALLED.toNanos()) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            "no byte of the VM's %s has moved for %d s".formatted(what, STALLED.toSeconds()),
            "The VM goes on where it is. Does the other node's disk answer?");
      }
      if (rounds >= ROUNDS && now - nearer > NO_NEARER.toNanos()) {
        throw tooSlow(
            "the guest writes as fast as its %s can be sent: no less was left for %d s"
                .formatted(what, NO_NEARER.toSeconds()));
      }
      if (now - begun > limit.toNanos()) {
        throw tooSlow(
            "the VM has not arrived within %d s, the limit for its size; %d MiB of its %s are left"
                .formatted(limit.toSeconds(), copying.left() >> 20, what));
      }
    }

    private void compare(Copying copying, long now) {
      rounds++;
      if (copying.left() < least || copying.slowed() > slowed) {
        rounds = 0;
        nearer = now;
      }
      least = Math.min(least, copying.left());
      slowed = Math.max(slowed, copying.slowed());
    }
  }

  private static PlatterException tooSlow(String why) {
    return PlatterException.of(
        Code.TIMED_OUT,
        why,
        "The VM goes on where it is. Try it when the guest has less to do, or give it more time:"
            + " 'migrate --timeout-per-gib', spec.completionTimeoutPerGiB of a migration.");
  }
}
