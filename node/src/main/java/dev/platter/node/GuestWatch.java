package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Sees to it that somebody looks after VMs when the command that started them has ended. On a
 * cluster the daemon is there anyway. On one machine it is started for VMs that cannot do without:
 * those that read an image through it, that may have to be revived at any moment, and that have
 * little room left to write to.
 *
 * <p>That it cannot be started is told and keeps no command from its work: that may be to make
 * room, or to end the VM.
 */
final class GuestWatch {
  private final StateLayout layout;
  private final Machine machine;
  private final Images images;
  private final VmStatuses statuses;
  private final Consumer<PlatterException> warn;

  GuestWatch(
      StateLayout layout,
      Machine machine,
      Images images,
      VmStatuses statuses,
      Consumer<PlatterException> warn) {
    this.layout = layout;
    this.machine = machine;
    this.images = images;
    this.statuses = statuses;
    this.warn = warn;
  }

  /** A command has started the VM, found it running, or changed its disks. */
  void begin(VmStatus vm) throws IOException {
    if (isNeeded(vm.plan())) {
      keepDaemon();
    }
    if (machine.isolated()) {
      return;
    }
    var qemu = statuses.process(vm.key());
    if (qemu.isPresent()) {
      ConsoleWatch.ensure(qemu.getAsLong(), vm.consoleLog());
      if (!Revival.concerns(vm.plan())) {
        watchRoom(qemu.getAsLong(), vm.plan());
      }
    }
  }

  private void watchRoom(long qemu, Plan plan) {
    var directories =
        Revival.files(plan).stream().map(Path::getParent).flatMap(Stream::ofNullable).distinct();
    try {
      images.keepDaemonWhenShort(qemu, directories.toList(), Room.SHORT);
    } catch (IOException e) {
      unwatched(e);
    }
  }

  /** Whoever looked after a VM may have been killed: a guest waits until there is another. */
  void goOn() throws IOException {
    var needed = false;
    for (var record : VmRecord.list(layout, _ -> {})) {
      var state = record.state(layout);
      if (state.isPresent() && state.get().up()) {
        for (var image : record.plan().images().entrySet()) {
          images.serveAgain(image.getKey(), image.getValue());
        }
        needed |= isNeeded(record.plan());
      }
    }
    if (needed) {
      keepDaemon();
    }
  }

  /** The same for one that stands still, whatever its disks are by now. */
  void goOnWith(List<VmStatus> vms) {
    if (vms.stream().anyMatch(statuses::isStalled)) {
      keepDaemon();
    }
  }

  private static boolean isNeeded(Plan plan) {
    return Revival.concerns(plan) || Revival.files(plan).stream().anyMatch(Room::isShort);
  }

  private void keepDaemon() {
    try {
      images.keepDaemon();
    } catch (PlatterException e) {
      warn.accept(e);
    } catch (IOException e) {
      unwatched(e);
    }
  }

  private void unwatched(IOException why) {
    warn.accept(
        PlatterException.of(
            Code.UNAVAILABLE,
            "nobody looks after VMs whose disks fail: " + why.getMessage(),
            "They go on when a platter command finds them, or with 'platter node'.",
            why));
  }
}
