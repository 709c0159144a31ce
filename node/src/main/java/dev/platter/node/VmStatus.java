package dev.platter.node;

import dev.platter.plan.Plan;
import java.nio.file.Path;

/** A VM as it is now. */
public record VmStatus(Plan plan, Phase phase, Path consoleLog, Path consoleSocket) {

  /** What a VM is doing, in a user's words. */
  public enum Phase {
    RUNNING,
    PAUSED,
    /** A command is starting, stopping or removing it. */
    CHANGING,
    STOPPED
  }

  public String name() {
    return plan.name();
  }

  public String namespace() {
    return plan.namespace();
  }
}
