package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.VmKey;
import java.nio.file.Path;

/** A VM as it is now. */
public record VmStatus(Plan plan, Phase phase, Path consoleLog, Path consoleSocket) {

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

  public VmKey key() {
    return plan.key();
  }
}
