package dev.platter.registry;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Mirrors that could not be reached, or that failed for a repository. They are passed over for a
 * while, and longer each time: to find out that nobody answers takes seconds, and a guest asks for
 * many ranges one after the other. When the while is over one request tries the mirror, once; the
 * others pass it over until that one has an answer.
 *
 * <p>There is an entry for each host of a mirror in {@code registries.conf} at most.
 */
final class Absences {
  private static final Duration FIRST = Duration.ofSeconds(30);
  private static final Duration LONGEST = Duration.ofMinutes(5);

  private final LongSupplier nanos;
  private final Map<String, Absence> absences = new HashMap<>();

  /** What a request is to do about a mirror. Who asks it tells how that went. */
  enum Asking {
    AS_USUAL,
    ONCE,
    NOT
  }

  /**
   * @param until when it is to be tried
   * @param pause how long after the last failure that was, or is
   * @param trying whether somebody does
   */
  private record Absence(long until, Duration pause, boolean trying) {}

  /**
   * @param nanos as {@link System#nanoTime()}
   */
  Absences(LongSupplier nanos) {
    this.nanos = nanos;
  }

  synchronized Asking asking(String host) {
    Absence absence = absences.get(host);
    if (absence == null) {
      return Asking.AS_USUAL;
    }
    if (nanos.getAsLong() - absence.until < 0) {
      return Asking.NOT;
    }
    // Who tries may be interrupted and tell nothing: then it is somebody else's turn after this.
    set(host, absence.pause, true);
    return Asking.ONCE;
  }

  synchronized boolean isAbsent(String host) {
    return absences.containsKey(host);
  }

  synchronized void failed(String host) {
    Absence absence = absences.get(host);
    if (absence == null) {
      set(host, FIRST, false);
    } else if (absence.trying) {
      Duration twice = absence.pause.multipliedBy(2);
      set(host, twice.compareTo(LONGEST) < 0 ? twice : LONGEST, false);
    } // Else it is known from others, who have asked at the same time.
  }

  synchronized void answered(String host) {
    absences.remove(host);
  }

  private void set(String host, Duration pause, boolean trying) {
    absences.put(host, new Absence(nanos.getAsLong() + pause.toNanos(), pause, trying));
  }
}
