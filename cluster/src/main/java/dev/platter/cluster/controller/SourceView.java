package dev.platter.cluster.controller;

import dev.platter.cluster.api.VmStatus.SourceStatus;
import dev.platter.cluster.controller.PodView.Outcome;
import dev.platter.model.ContainerSource;
import dev.platter.model.Vm;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How far the volumes are that containers make for a VM.
 *
 * @param statuses what is to be remembered of them
 * @param waiting what keeps the VM from starting, or from going; null if nothing does
 * @param again when to look again if nothing happens; null if only a change can matter
 */
record SourceView(
    List<SourceStatus> statuses, @Nullable Outcome waiting, @Nullable Duration again) {
  static final SourceView NONE = new SourceView(List.of(), null, null);

  SourceView {
    statuses = List.copyOf(statuses);
  }

  /** Whether every container of the VM has said what its disk is. */
  boolean answers(Vm vm) {
    return vm.disks().stream()
        .filter(disk -> disk.source() instanceof ContainerSource)
        .allMatch(
            disk ->
                statuses.stream()
                    .anyMatch(each -> each.disk().equals(disk.name()) && each.answer() != null));
  }
}
