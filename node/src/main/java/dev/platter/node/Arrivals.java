package dev.platter.node;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Durable;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/**
 * VMs that come to this node. Their plan runs as that of a new VM, but for disks that are made
 * empty, to be filled by the other node, and for a QEMU that waits for its memory. That last step
 * is not recorded as done before the VM is this node's: so a VM that never arrives is a start that
 * was not finished, and is undone as one.
 *
 * <p>The VM's lock is held in all of this.
 */
final class Arrivals {
  private final StateLayout layout;
  private final StepRunner runner;
  private final PlanRunner plans;
  private final Whereabouts whereabouts;
  private final MigrationRecords records;

  Arrivals(StateLayout layout, StepRunner runner, PlanRunner plans, Whereabouts whereabouts) {
    this.layout = layout;
    this.runner = runner;
    this.plans = plans;
    this.whereabouts = whereabouts;
    this.records = new MigrationRecords(layout);
  }

  /** Makes all that the VM needs here, up to a QEMU that waits. If it fails nothing is left. */
  VmRecord prepare(MovingVm vm, Arrival arrival, SecretData secrets) throws IOException {
    var plan = vm.plan();
    records.refuseUnseen(plan.key());
    plans.prepare(plan, plan.steps());
    records.publish(plan.key(), arrival);
    var directory = layout.vm(plan.key());
    Durable.makeDirectories(directory);
    Durable.write(layout.arriving(directory), arrival.id().toString().getBytes(US_ASCII));
    var record = VmRecord.create(layout, new Planned(plan, vm.domainXml(), null, List.of()));
    plans.arrive(record, (step, reservation) -> make(record, vm, step, secrets, reservation));
    return record;
  }

  private void make(
      VmRecord record, MovingVm vm, Step step, SecretData secrets, Pools.Reservation reservation)
      throws IOException {
    switch (step) {
      case Step.CreateOverlay overlay ->
          NewFile.create(
              overlay.path(),
              path -> {
                var below = overlay.backing();
                if (below == null) {
                  Qcow2Overlay.create(path, size(vm, path));
                } else {
                  Qcow2Overlay.create(path, Overlays.backing(below), size(vm, path));
                }
              });
      case Step.CreateVolume volume ->
          NewFile.create(volume.path(), path -> Qcow2Overlay.create(path, size(vm, path)));
      case Step.CreateBlank blank -> makeRaw(vm, blank.path(), reservation);
      case Step.CloneDisk clone -> makeRaw(vm, clone.path(), reservation);
      case Step.WriteSeed seed ->
          NewFile.create(
              seed.path(), path -> Durable.write(path, Objects.requireNonNull(vm.seed())));
      case Step.StartDomain _ -> runner.moving().receive(vm);
      default -> runner.run(record, step, new Given(secrets), reservation);
    }
  }

  private void makeRaw(MovingVm vm, String file, Pools.Reservation reservation) throws IOException {
    runner.reserve(Path.of(file), size(vm, Path.of(file)), reservation);
    NewFile.create(file, path -> SparseFile.create(path, size(vm, path)));
  }

  private static long size(MovingVm vm, Path disk) {
    return Objects.requireNonNull(vm.sizes().get(disk.toString()));
  }

  /** From here on the VM is this node's. All of it has arrived, and it does not run elsewhere. */
  void decide(VmKey key, Arrival arrival) throws IOException {
    if (arrival.cluster()) {
      whereabouts.decide(key, arrival.id());
    }
    records.publish(key, arrival.decide());
  }

  /** Finishes the arrival of a VM that is this node's; nothing happens if there is none. */
  void settle(VmRecord record) throws IOException {
    var key = record.plan().key();
    var found = records.arrival(key);
    if (found.isPresent()
        && found.get().cluster()
        && !found.get().decided()
        && records.isUnfinished(record, found.get())
        && whereabouts.hasCome(key, found.get().id())) {
      records.publish(key, found.get().decide());
      found = records.arrival(key);
    }
    if (found.isPresent() && records.isDue(record, found.get())) {
      run(record);
      finish(record);
    }
  }

  void run(VmRecord record) {
    runner.disks(record.plan()).resume();
  }

  /** Records that the VM is up. */
  void finish(VmRecord record) throws IOException {
    plans.arrived(record);
    runner.moving().readSealed(record.plan());
    records.forgetUnasked(record.plan().key());
  }
}
