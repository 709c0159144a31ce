package dev.platter.cluster.node;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Times the parts of one start, which follow one another. Used by the thread that starts. */
final class StartClock {
  /** What a start consists of. The words are those of the metric's label. */
  enum Part {
    /** What the VM is and refers to, whether it may start here, and its plan. */
    PREPARE,
    /** Every step of the plan up to QEMU's. */
    DISK,
    /** Waiting for the launcher, if all this was done before it called. */
    LAUNCHER,
    /** Its turn, libvirt, QEMU and its move into the pod, until the guest runs. */
    QEMU;

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Map<Part, Long> nanos = new EnumMap<>(Part.class);
  private Part now = Part.PREPARE;
  private long since = System.nanoTime();

  /** The part before ends. */
  void enter(Part part) {
    stop();
    now = part;
  }

  /** Nothing is timed any more, unless another part is entered. */
  void stop() {
    var time = System.nanoTime();
    nanos.merge(now, time - since, Long::sum);
    since = time;
  }

  double seconds(Part part) {
    return nanos.getOrDefault(part, 0L) / 1e9;
  }

  /** How long all took, without waiting for the launcher. */
  double seconds() {
    return nanos.values().stream().mapToLong(Long::longValue).sum() / 1e9 - seconds(Part.LAUNCHER);
  }

  /** Such as {@code 61.3 ms (prepare 10.0, disk 8.1, launcher 0.0, qemu 43.2)}. */
  @Override
  public String toString() {
    List<String> parts = new ArrayList<>();
    nanos.keySet().forEach(part -> parts.add(part.word() + " " + millis(seconds(part))));
    return "%s ms (%s)".formatted(millis(seconds()), String.join(", ", parts));
  }

  private static String millis(double seconds) {
    return String.format(Locale.ROOT, "%.1f", seconds * 1e3);
  }
}
