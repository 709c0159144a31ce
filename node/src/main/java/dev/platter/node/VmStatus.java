package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.VmKey;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A VM as it is now.
 *
 * @param stall why it is paused, if disks failed; it goes on by itself when they work
 */
public record VmStatus(
    Plan plan, Phase phase, Optional<Stall> stall, Path consoleLog, Path consoleSocket) {

  /** What a VM is doing, in a user's words. */
  public enum Phase {
    RUNNING,
    PAUSED,
    /** A command is starting, stopping or removing it. */
    CHANGING,
    STOPPED,
    /** Its libvirt cannot be reached. */
    UNKNOWN
  }

  /** Why it is paused, for people; empty if nobody knows, or it is not. */
  public String why() {
    return stall.map(known -> known.why(plan)).orElse("");
  }

  public VmKey key() {
    return plan.key();
  }
}
