package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.node.Stall;
import dev.platter.node.VmStatus;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.util.Optional;

/**
 * Tells that a VM stands still since a disk is full, and that it goes on. Storage that is away is
 * not told of: such a VM is tried every few seconds, and nobody knows whether it runs meanwhile.
 *
 * <p>What was told is what the pod says, also of the daemon before; so what did not get through is
 * told again.
 */
final class StallReport {
  static final Duration EVERY = Duration.ofSeconds(5);

  private final VmReports reports;

  StallReport(VmReports reports) {
    this.reports = reports;
  }

  /**
   * @param told the pod as it is known now
   */
  void look(Pod told, VmStatus vm, Optional<Stall> stall) {
    var full = stall.filter(Stall::full);
    var known = isToldFull(told);
    if (full.isPresent() && !known) {
      reports.report(
          false,
          Reason.DISK_FULL,
          "The VM stands still: %s. It goes on by itself when there is room."
              .formatted(full.get().why(vm.plan())));
    } else if (known && vm.phase() == VmStatus.Phase.RUNNING) {
      reports.report(true, Reason.RUNNING, Reason.RUNNING.sentence());
    }
  }

  private static boolean isToldFull(Pod pod) {
    return pod.getStatus() != null
        && pod.getStatus().getConditions().stream()
            .anyMatch(
                condition ->
                    Names.RUNNING_GATE.equals(condition.getType())
                        && Reason.DISK_FULL.word().equals(condition.getReason()));
  }
}
