package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.node.Stall;
import dev.platter.node.VmStatus;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;

/**
 * Tells that a VM stands still since a disk is full, and that it goes on. Storage that is away is
 * not told of: such a VM is tried every few seconds, and nobody knows whether it runs meanwhile.
 */
final class StallReport {
  static final Duration EVERY = Duration.ofSeconds(5);

  private final VmReports reports;
  private boolean told;

  /**
   * @param pod as it is known now: the daemon before may have told of it
   */
  StallReport(VmReports reports, Pod pod) {
    this.reports = reports;
    this.told =
        pod.getStatus() != null
            && pod.getStatus().getConditions().stream()
                .anyMatch(
                    condition ->
                        Names.RUNNING_GATE.equals(condition.getType())
                            && Reason.DISK_FULL.word().equals(condition.getReason()));
  }

  void look(VmStatus vm) {
    var full = vm.stall().filter(Stall::full).isPresent();
    if (full && !told) {
      told = true;
      reports.report(
          false,
          Reason.DISK_FULL,
          "The VM stands still: " + vm.why() + ". It goes on by itself when there is room.");
    } else if (told && vm.phase() == VmStatus.Phase.RUNNING) {
      told = false;
      reports.report(true, Reason.RUNNING, Reason.RUNNING.sentence());
    }
  }
}
