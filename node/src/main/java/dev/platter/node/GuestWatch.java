package dev.platter.node;

import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.util.List;

/**
 * Sees to it that somebody looks after VMs when the command that started them has ended. On a
 * cluster the daemon is there anyway. On one machine it is started for VMs that cannot do without:
 * those that read an image through it, that may have to be revived at any moment, and that have
 * little room left to write to.
 */
final class GuestWatch {
  private final StateLayout layout;
  private final Machine machine;
  private final Images images;
  private final VmStatuses statuses;

  GuestWatch(StateLayout layout, Machine machine, Images images, VmStatuses statuses) {
    this.layout = layout;
    this.machine = machine;
    this.images = images;
    this.statuses = statuses;
  }

  /** A command has started the VM, or found it running. */
  void begin(VmStatus vm) throws IOException {
    keep(vm.plan());
    if (machine.isolated()) {
      return;
    }
    var qemu = statuses.process(vm.key());
    if (qemu.isPresent()) {
      ConsoleWatch.ensure(qemu.getAsLong(), vm.consoleLog());
      var files = Revival.files(vm.plan());
      if (!files.isEmpty() && !Revival.concerns(vm.plan())) {
        images.keepDaemonWhenShort(qemu.getAsLong(), files, Room.SHORT);
      }
    }
  }

  /** Whoever looked after a VM may have been killed: a guest waits until there is another. */
  void goOn() throws IOException {
    for (var record : VmRecord.list(layout, _ -> {})) {
      var state = record.state(layout);
      if (state.isPresent() && state.get().up()) {
        for (var image : record.plan().images().entrySet()) {
          images.serveAgain(image.getKey(), image.getValue());
        }
        keep(record.plan());
      }
    }
  }

  /** The same for one that stands still, whatever its disks are by now. */
  void goOnWith(List<VmStatus> vms) throws IOException {
    if (vms.stream().anyMatch(vm -> vm.stall().isPresent())) {
      images.keepDaemon();
    }
  }

  private void keep(Plan plan) throws IOException {
    if (Revival.concerns(plan) || Revival.files(plan).stream().anyMatch(Room::isShort)) {
      images.keepDaemon();
    }
  }
}
