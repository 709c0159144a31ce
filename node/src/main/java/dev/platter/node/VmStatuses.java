package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** How the VMs of a machine are, by their records and by what libvirt says of them. */
final class VmStatuses {
  private final StateLayout layout;
  private final Machine machine;
  private final Consumer<PlatterException> warn;

  /**
   * @param warn is told what keeps a VM from being looked at
   */
  VmStatuses(StateLayout layout, Machine machine, Consumer<PlatterException> warn) {
    this.layout = layout;
    this.machine = machine;
    this.warn = warn;
  }

  List<VmStatus> list() throws IOException {
    var out = new ArrayList<VmStatus>();
    for (var record : VmRecord.list(layout, warn)) {
      find(record).ifPresent(out::add);
    }
    return out;
  }

  VmStatus of(VmKey key) throws IOException {
    var record = VmRecord.find(layout, key);
    var status = record.isPresent() ? find(record.get()) : Optional.<VmStatus>empty();
    return status.orElseThrow(() -> Executor.noSuchVm(key));
  }

  /** The process of a VM that runs. */
  OptionalLong process(VmKey key) throws IOException {
    var uuid = of(key).plan().uuid();
    try {
      return OptionalLong.of(QemuProcess.pid(uuid, layout.consoleSocket(uuid)));
    } catch (PlatterException e) {
      return OptionalLong.empty();
    }
  }

  private Optional<VmStatus> find(VmRecord record) throws IOException {
    var state = record.state(layout);
    if (state.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new VmStatus(
            record.plan(),
            phase(record, state.get()),
            layout.consoleLog(record.directory()),
            layout.consoleSocket(record.plan().uuid())));
  }

  /** Why a VM stands still, if it is paused since disks failed. Waits a moment for QEMU. */
  Optional<Stall> stall(VmStatus vm) {
    if (vm.phase() != VmStatus.Phase.PAUSED) {
      return Optional.empty();
    }
    try {
      return Stall.of(machine.hypervisor(vm.plan().libvirt()), vm.plan());
    } catch (PlatterException e) {
      warn.accept(e); // Nobody has to know why: that it is paused is known.
      return Optional.empty();
    }
  }

  /** Whether it is paused since disks failed. */
  boolean isStalled(VmStatus vm) {
    try {
      return vm.phase() == VmStatus.Phase.PAUSED
          && machine.hypervisor(vm.plan().libvirt()).isStalled(vm.plan().uuid());
    } catch (PlatterException e) {
      warn.accept(e);
      return false;
    }
  }

  private VmStatus.Phase phase(VmRecord record, Journal.State state) {
    if (state.open() != null) {
      return VmStatus.Phase.CHANGING;
    }
    if (!state.up()) {
      return VmStatus.Phase.STOPPED;
    }
    try {
      return switch (machine.hypervisor(record.plan().libvirt()).state(record.plan().uuid())) {
        case RUNNING -> VmStatus.Phase.RUNNING;
        case PAUSED -> VmStatus.Phase.PAUSED;
        case GONE -> VmStatus.Phase.STOPPED;
      };
    } catch (PlatterException e) {
      warn.accept(e);
      return VmStatus.Phase.UNKNOWN;
    }
  }
}
