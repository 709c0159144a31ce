package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.Relocation;
import java.io.IOException;
import java.util.List;

/** The QEMUs of VMs on their way to or from this node. */
final class MovingGuests {
  private final Machine machine;
  private final ServedBases bases;

  MovingGuests(Machine machine, ServedBases bases) {
    this.machine = machine;
    this.bases = bases;
  }

  private Hypervisor hypervisor(Plan plan) {
    return machine.hypervisor(plan.libvirt());
  }

  /** The domain as it runs. */
  String describe(Plan plan) {
    return hypervisor(plan).migration().describe(plan.uuid());
  }

  /** Starts a QEMU that waits; if it fails there is none. */
  IncomingQemu receive(MovingVm vm) throws IOException {
    var plan = vm.plan();
    try {
      hypervisor(plan).migration().receive(vm.running(), bases.of(plan));
      var layout = bases.layout();
      var qemu = incoming(plan, vm.disks());
      qemu.listen(layout.disksSocket(plan.uuid()), layout.memorySocket(plan.uuid()));
      return qemu;
    } catch (IOException | RuntimeException e) {
      try {
        hypervisor(plan).destroy(plan.uuid());
      } catch (RuntimeException again) {
        e.addSuppressed(again);
      }
      throw e;
    }
  }

  IncomingQemu incoming(Plan plan, List<Relocation.Copied> disks) {
    return new IncomingQemu(monitor(plan), disks);
  }

  OutgoingQemu outgoing(Plan plan) {
    return new OutgoingQemu(monitor(plan));
  }

  private Qmp monitor(Plan plan) {
    var migration = hypervisor(plan).migration();
    return new Qmp(command -> migration.monitor(plan.uuid(), command));
  }

  /** While a VM was on its way nobody told its QEMU that a base has become complete. */
  void readSealed(Plan plan) throws IOException {
    var served = bases.of(plan);
    for (var digest : plan.images().values()) {
      var base = bases.base(digest);
      if (!served.contains(base)) {
        hypervisor(plan).readFromFile(plan.uuid(), base);
      }
    }
  }
}
