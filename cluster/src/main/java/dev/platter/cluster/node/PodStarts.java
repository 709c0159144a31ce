package dev.platter.cluster.node;

import dev.platter.dialect.Objects;
import dev.platter.model.ClaimSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import dev.platter.plan.Claims;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/** Starts the VMs of launcher pods. */
final class PodStarts {
  private final KnownVms vms;
  private final Node node;
  private final Api api;
  private final Gathering gathering;
  private final Owners owners;
  private final DiskLeases leases;
  private final Starts starts;

  PodStarts(
      KnownVms vms,
      Node node,
      Api api,
      Gathering gathering,
      Owners owners,
      DiskLeases leases,
      Starts starts) {
    this.vms = vms;
    this.node = node;
    this.api = api;
    this.gathering = gathering;
    this.owners = owners;
    this.leases = leases;
    this.starts = starts;
  }

  /**
   * Makes the pod's VM, or starts it again; one that runs already is ended before.
   *
   * @param told how far a long copy is; may end the start by an exception
   * @return how long that took
   */
  StartClock start(Pod pod, Images.BytesDone told) throws IOException {
    var clock = new StartClock();
    try (var _ = vms.lock(PodVms.key(pod))) {
      start(pod, clock, told, () -> {});
    }
    return clock;
  }

  /** The same before the launcher calls; empty if it has done so before, or the VM runs. */
  Optional<StartClock> startEarly(Pod pod, EarlyStart early) throws IOException {
    var clock = new StartClock();
    var key = PodVms.key(pod);
    try (var _ = vms.lock(key)) {
      var uid = pod.getMetadata().getUid();
      var launcher = owners.find(key).map(Owner::launcher);
      var phase = vms.status(key).map(VmStatus::phase);
      if (launcher.filter(it -> it.uid().equals(uid)).isPresent()
          || phase.filter(it -> it != VmStatus.Phase.STOPPED).isPresent()) {
        return Optional.empty();
      }
      start(pod, clock, early, early::awaitLauncher);
    }
    return Optional.of(clock);
  }

  private void start(Pod pod, StartClock clock, Images.BytesDone told, Runnable awaitLauncher)
      throws IOException {
    var key = PodVms.key(pod);
    var owner = Owner.of(pod);
    var known = vms.known(owner);
    var given = gathering.of(pod);
    var vm = given.vms().getFirst();
    vms.take(vm.uuid(), key);
    starts.begin(vm.uuid(), pod, clock, told, awaitLauncher);
    try {
      start(pod, owner, known, given, clock, awaitLauncher);
      clock.stop();
    } finally {
      starts.end(vm.uuid());
      vms.giveBackIfGone(vm.uuid(), key);
    }
  }

  private void start(
      Pod pod,
      Owner owner,
      Optional<Owner> known,
      Objects given,
      StartClock clock,
      Runnable awaitLauncher)
      throws IOException {
    var key = owner.key();
    var vm = given.vms().getFirst();
    var status = vms.status(key);
    if (status.isPresent() && status.get().phase() != VmStatus.Phase.STOPPED) {
      node.stop(key, Duration.ZERO); // Its launcher has died: the pod's container is a new one.
    }
    var planned = node.plan(vm, given);
    var same =
        status.isPresent()
            && status.get().plan().equals(planned.plan())
            && known.filter(o -> o.description().equals(owner.description())).isPresent();
    if (status.isPresent() && !same) {
      vms.makeRoom(owner, status.get().plan());
      planned = node.plan(vm, given); // Its images are those of today.
    }
    var uses = DiskUse.of(vm, given, planned.plan());
    if (!uses.isEmpty()) {
      clock.enter(StartClock.Part.LAUNCHER);
      awaitLauncher.run(); // Until then, others may use the disks.
      clock.enter(StartClock.Part.PREPARE);
    }
    var layout = node.layout();
    var console = ConsoleLog.length(layout.consoleLog(layout.vm(key)));
    var begun = owner.startingAt(console, uses.stream().map(DiskLeases::name).distinct().toList());
    owners.put(begun);
    try {
      if (owner.kind() == Owner.Kind.VIRTUAL_MACHINE
          && !api.keep(key.namespace(), key.name(), owner.uid())) {
        throw PlatterException.of(
            Code.NOT_FOUND, "the VirtualMachine of this pod is gone, and the pod goes too", "");
      }
      leases.take(begun, uses);
      checkClaims(pod, vm);
      clock.enter(StartClock.Part.DISK);
      if (same) {
        // Not by its description: tokens in it change from hour to hour.
        node.start(key, given.secrets());
      } else {
        node.run(vm, given, planned);
      }
    } catch (IOException | RuntimeException e) {
      release(key, e);
      throw e;
    }
  }

  private void release(VmKey key, Exception cause) {
    Cancellation.shield(
        () -> {
          try {
            vms.release(key);
          } catch (IOException e) {
            cause.addSuppressed(e); // The next sweep does it.
          }
        });
  }

  /** Who had the Lease until now may have left a claim that cannot be used. */
  private void checkClaims(Pod pod, Vm vm) throws IOException {
    if (vm.disks().stream().anyMatch(disk -> disk.source() instanceof ClaimSource)) {
      var now = gathering.of(pod);
      Claims.resolve(now.vms().getFirst(), now.volumes(), now.secrets());
    }
  }
}
