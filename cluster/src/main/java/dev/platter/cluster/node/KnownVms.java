package dev.platter.cluster.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.plan.Plan;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * What this node has for the cluster: VMs, whose they are, and the leases of their disks. One thing
 * at a time is done to a VM.
 *
 * <p>UUIDs can be chosen by those who write VMs, and libvirt knows domains by them alone; so while
 * a VM of the cluster has one, no other is started with it. One that has ended has it still: its
 * disks are named by it, and whoever removes them ends the domain that has it.
 */
final class KnownVms {
  private final Node node;
  private final Api api;
  private final Owners owners;
  private final DiskLeases leases;
  private final PodPlaces places;
  private final Consumer<String> log;
  private final Locks<VmKey> locks = new Locks<>();
  private final Map<UUID, VmKey> uuids = new ConcurrentHashMap<>();

  KnownVms(
      Node node, Api api, Owners owners, DiskLeases leases, PodPlaces places, Consumer<String> log)
      throws IOException {
    this.node = node;
    this.api = api;
    this.owners = owners;
    this.leases = leases;
    this.places = places;
    this.log = log;
    for (var status : node.list()) {
      uuids.put(status.plan().uuid(), status.key());
    }
  }

  /** Whoever has it is the only one who does anything to the VM. */
  Locks.Held lock(VmKey key) {
    return locks.lock(key);
  }

  /** Empty if somebody has it. */
  Optional<Locks.Held> tryLock(VmKey key) {
    return locks.tryLock(key);
  }

  /** How many VMs there are, be they running or not. */
  int count() {
    return uuids.size();
  }

  /** The UUID is this VM's until it is gone; fails if it is another's. */
  void take(UUID uuid, VmKey key) throws IOException {
    var other = uuids.putIfAbsent(uuid, key);
    if (other == null || other.equals(key)) {
      return;
    }
    var ended = status(other).filter(it -> it.phase() == VmStatus.Phase.STOPPED).isPresent();
    var object = owners.find(other).filter(it -> it.kind() == Owner.Kind.VIRTUAL_MACHINE);
    throw PlatterException.of(
        Code.CONFLICT,
        "the UUID %s is in use by the VM %s on this node%s"
            .formatted(uuid, other, ended ? ", which has ended and whose disks have it" : ""),
        "Delete %s, or give this one another UUID, or none."
            .formatted(object.isPresent() ? "that VirtualMachine" : "its pod"));
  }

  void giveBackIfGone(UUID uuid, VmKey key) throws IOException {
    if (status(key).isEmpty()) {
      uuids.remove(uuid, key);
    }
  }

  Optional<VmStatus> status(VmKey key) throws IOException {
    try {
      return Optional.of(node.status(key));
    } catch (PlatterException e) {
      if (e.code() == Code.NOT_FOUND) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** What this node has for the owner. What it has for one that is gone is removed before. */
  Optional<Owner> known(Owner owner) throws IOException {
    var key = owner.key();
    var known = owners.find(key);
    if (known.isEmpty() && status(key).isPresent()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "this node has a VM " + key + " that is not the cluster's",
          "Who made it with 'platter run' can remove it; or give this one another name.");
    }
    if (known.isEmpty() || known.get().uid().equals(owner.uid())) {
      return known;
    }
    if (known.get().kind() == Owner.Kind.VIRTUAL_MACHINE
        && api.vm(key.namespace(), key.name())
            .filter(vm -> vm.uid().equals(known.get().uid()))
            .isPresent()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "this node has disks of the VirtualMachine " + key,
          "Give the pod another name, or delete the VirtualMachine.");
    }
    remove(known.get());
    return Optional.empty();
  }

  /**
   * The VM is described otherwise than it was, or its volumes are in other places, as they are with
   * every new pod. One that has nothing to keep is made anew.
   */
  void makeRoom(Owner owner, Plan made) throws IOException {
    if (owner.kind() == Owner.Kind.POD || keepsDisks(made)) {
      throw PlatterException.of(
          Code.CONFLICT,
          "this node has disks of the VM that belong to another description of it, or to volumes"
              + " that were elsewhere",
          "Undo the change, or delete the VM with its disks and make it anew.");
    }
    node.remove(owner.key(), true);
  }

  private static boolean keepsDisks(Plan plan) {
    return plan.steps().stream()
        .filter(step -> step.life() == Step.Life.VM)
        .anyMatch(
            step ->
                switch (step) {
                  case Step.CreateOverlay _,
                      Step.CreateVolume _,
                      Step.CreateSnapshot _,
                      Step.CloneDisk _,
                      Step.CreateBlank _ ->
                      true;
                  default -> false;
                });
  }

  /** One that is on its way is left alone: moves last for hours. */
  void forgetIfIdle(VmKey key) {
    locks
        .tryLock(key)
        .ifPresent(
            lock -> {
              try (lock) {
                forgetIfGone(key);
              }
            });
  }

  /** There may be nothing of a VM that was here, or should have come. */
  void forgetIfGone(VmKey key) {
    try (var _ = locks.lock(key)) {
      var owner = owners.find(key);
      if (owner.isEmpty() || status(key).isPresent()) {
        return;
      }
      leases.release(owner.get(), owner.get().leases());
      if (owner.get().kind() == Owner.Kind.VIRTUAL_MACHINE) {
        api.vm(key.namespace(), key.name()).ifPresent(api::release);
      }
      forget(key);
    } catch (IOException | KubernetesClientException | PlatterException e) {
      // Its record stays; leases are given back by the next sweep.
      log.accept(key + ": its leases stay for now: " + e.getMessage());
    }
  }

  /** Takes down, with all its disks, what was made for an owner that is gone. */
  void remove(Owner owner) throws IOException {
    remove(owner, () -> {});
  }

  /**
   * @param removed done when nothing is left, and again if this does not come to its end
   */
  void remove(Owner owner, Runnable removed) throws IOException {
    var key = owner.key();
    var lock = locks.tryLock(key);
    if (lock.isEmpty()) {
      return; // It is being started, which may take long; the next sweep comes soon.
    }
    try (var _ = lock.get()) {
      var now = owners.find(key);
      if (now.isEmpty() || !now.get().uid().equals(owner.uid())) {
        return;
      }
      if (status(key).isPresent()) {
        node.remove(key, true);
        log.accept("removed the VM " + key);
      }
      leases.release(now.get(), now.get().leases());
      removed.run();
      forget(key);
    }
  }

  /** Gives back the leases of VMs that do not run, where that could not be done at once. */
  void releaseIdle() throws IOException {
    for (var owner : owners.all()) {
      if (!owner.leases().isEmpty()) {
        releaseIdle(owner.key());
      }
    }
  }

  private void releaseIdle(VmKey key) throws IOException {
    var lock = locks.tryLock(key);
    if (lock.isEmpty()) {
      return;
    }
    try (var _ = lock.get()) {
      var status = status(key);
      if (status.isEmpty() || status.get().phase() == VmStatus.Phase.STOPPED) {
        release(key);
      }
    }
  }

  /** Of a VM that does not run. While the API server is away it keeps them. */
  void release(VmKey key) throws IOException {
    var owner = owners.find(key);
    if (owner.isEmpty() || owner.get().leases().isEmpty()) {
      return;
    }
    try {
      leases.release(owner.get(), owner.get().leases());
      owners.put(owner.get().startingAt(owner.get().console(), List.of()));
    } catch (KubernetesClientException | PlatterException e) {
      log.accept(key + ": its leases stay for now: " + e.getMessage());
    }
  }

  private void forget(VmKey key) throws IOException {
    owners.remove(key);
    uuids.values().remove(key);
    places.forget(key);
  }
}
