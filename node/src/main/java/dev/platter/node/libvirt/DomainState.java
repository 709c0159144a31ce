package dev.platter.node.libvirt;

import java.util.List;

/**
 * What a domain does and why, in the words of {@code virsh domstate --reason}. A reason that this
 * version does not know is {@code unknown}; a libvirt newer than us may have more of them.
 */
public record DomainState(Kind kind, String reason) {
  private static final String IO_ERROR = "I/O error";

  /** virDomainState, in its order. */
  public enum Kind {
    NO_STATE("no state"),
    RUNNING(
        "running",
        "unknown",
        "booted",
        "migrated",
        "restored",
        "from snapshot",
        "unpaused",
        "migration canceled",
        "save canceled",
        "event wakeup",
        "crashed",
        "post-copy",
        "post-copy failed"),
    BLOCKED("idle"),
    PAUSED(
        "paused",
        "unknown",
        "user",
        "migrating",
        "saving",
        "dumping",
        IO_ERROR,
        "watchdog",
        "from snapshot",
        "shutting down",
        "creating snapshot",
        "crashed",
        "starting up",
        "post-copy",
        "post-copy failed",
        "api error"),
    SHUTTING_DOWN("in shutdown", "unknown", "user"),
    SHUT_OFF(
        "shut off",
        "unknown",
        "shutdown",
        "destroyed",
        "crashed",
        "migrated",
        "saved",
        "failed",
        "from snapshot",
        "daemon"),
    CRASHED("crashed", "unknown", "panicked"),
    PM_SUSPENDED("pmsuspended");

    private final String word;

    @SuppressWarnings("ImmutableEnumChecker") // List.of
    private final List<String> reasons;

    Kind(String word, String... reasons) {
      this.word = word;
      this.reasons = List.of(reasons);
    }
  }

  /** Whether QEMU stopped the guest since a disk failed. */
  public boolean isPausedByError() {
    return kind == Kind.PAUSED && reason.equals(IO_ERROR);
  }

  static DomainState of(int state, int reason) {
    Kind[] kinds = Kind.values();
    Kind kind = state >= 0 && state < kinds.length ? kinds[state] : Kind.NO_STATE;
    boolean known = reason >= 0 && reason < kind.reasons.size();
    return new DomainState(kind, known ? kind.reasons.get(reason) : "unknown");
  }

  @Override
  public String toString() {
    return kind.word + " (" + reason + ")";
  }
}
