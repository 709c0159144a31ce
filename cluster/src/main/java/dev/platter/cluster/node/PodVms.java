package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.dialect.Objects;
import dev.platter.model.ClaimSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import dev.platter.node.Journey;
import dev.platter.node.Migrated;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import dev.platter.plan.Claims;
import dev.platter.plan.Plan;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The VMs of this node's launcher pods. One thing at a time is done to a VM.
 *
 * <p>UUIDs can be chosen by those who write VMs, and libvirt knows domains by them alone; so while
 * a VM of the cluster has one, no other is started with it.
 */
final class PodVms {
  /** As a shell shows a process that was killed. */
  private static final int KILLED = 137;

  private final Node node;
  private final Api api;
  private final Gathering gathering;
  private final Owners owners;
  private final DiskLeases leases;
  private final PodPlaces places;
  private final Consumer<String> log;
  private final Locks<VmKey> locks = new Locks<>();
  private final Map<UUID, VmKey> uuids = new ConcurrentHashMap<>();

  private final Starts starts;

  /** Those who move a VM away; a stop comes first. */
  private final Map<VmKey, Thread> leaving = new ConcurrentHashMap<>();

  private final AwaitedVms awaited = new AwaitedVms();

  PodVms(
      Node node,
      Api api,
      Gathering gathering,
      Owners owners,
      DiskLeases leases,
      Path cgroups,
      Starts starts,
      Consumer<String> log)
      throws IOException {
    this.node = node;
    this.api = api;
    this.gathering = gathering;
    this.owners = owners;
    this.leases = leases;
    this.starts = starts;
    this.places = new PodPlaces(cgroups, node.layout());
    this.log = log;
    for (var status : node.list()) {
      uuids.put(status.plan().uuid(), status.key());
    }
  }

  /** A pod has the name of its VM, but for one that a VM object's has moved to. */
  static VmKey key(Pod pod) {
    var metadata = pod.getMetadata();
    var moved = movedVm(pod);
    return new VmKey(metadata.getNamespace(), moved == null ? metadata.getName() : moved);
  }

  private static @Nullable String movedVm(Pod pod) {
    var annotations = pod.getMetadata().getAnnotations();
    return annotations == null ? null : annotations.get(Names.MOVED_VM);
  }

  /** Whether the pod starts no VM, but has one that comes to it. */
  static boolean awaitsVm(Pod pod) {
    return movedVm(pod) != null;
  }

  /** Whether the VM that comes to this pod is there. */
  boolean hasArrived(Pod pod) throws IOException {
    var key = key(pod);
    var launcher = owners.find(key).map(Owner::launcher);
    var status = status(key).map(VmStatus::phase);
    return launcher.filter(it -> it.uid().equals(pod.getMetadata().getUid())).isPresent()
        && status.isPresent()
        && status.get() != VmStatus.Phase.CHANGING
        && status.get() != VmStatus.Phase.UNKNOWN;
  }

  AwaitedVms awaited() {
    return awaited;
  }

  /** Whoever has it is the only one who does anything to the VM. */
  Locks.Held lock(VmKey key) {
    return locks.lock(key);
  }

  StartClock start(Pod pod) throws IOException {
    return start(pod, Images.BytesDone.NOBODY);
  }

  /**
   * Makes the pod's VM, or starts it again; one that runs already is ended before.
   *
   * @param told how far a long copy is; may end the start by an exception
   * @return how long that took
   */
  StartClock start(Pod pod, Images.BytesDone told) throws IOException {
    var clock = new StartClock();
    var key = key(pod);
    try (var _ = locks.lock(key)) {
      var owner = Owner.of(pod);
      var known = known(owner);
      var given = gathering.of(pod);
      var vm = given.vms().getFirst();
      var other = uuids.putIfAbsent(vm.uuid(), key);
      if (other != null && !other.equals(key)) {
        throw PlatterException.of(
            Code.CONFLICT,
            "another VM of this node has the UUID " + vm.uuid(),
            "Give the VM another UUID, or none.");
      }
      starts.begin(vm.uuid(), pod, clock, told);
      try {
        start(pod, owner, known, given, clock);
        clock.stop();
        return clock;
      } finally {
        starts.end(vm.uuid());
        if (status(key).isEmpty()) {
          uuids.remove(vm.uuid(), key);
        }
      }
    }
  }

  /** What this node has for the owner. What it has for one that is gone is removed before. */
  private Optional<Owner> known(Owner owner) throws IOException {
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

  private void start(Pod pod, Owner owner, Optional<Owner> known, Objects given, StartClock clock)
      throws IOException {
    var key = owner.key();
    var vm = given.vms().getFirst();
    var status = status(key);
    if (status.isPresent() && status.get().phase() != VmStatus.Phase.STOPPED) {
      node.stop(key, Duration.ZERO); // Its launcher has died: the pod's container is a new one.
    }
    var planned = node.plan(vm, given);
    var same =
        status.isPresent()
            && status.get().plan().equals(planned.plan())
            && known.filter(o -> o.description().equals(owner.description())).isPresent();
    if (status.isPresent() && !same) {
      makeRoom(owner, status.get().plan());
      planned = node.plan(vm, given); // Its images are those of today.
    }
    var uses = DiskUse.of(vm, given, planned.plan());
    var begun =
        owner.startingAt(console(key), uses.stream().map(DiskLeases::name).distinct().toList());
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
      release(key);
      throw e;
    }
  }

  /** Who had the Lease until now may have left a claim that cannot be used. */
  private void checkClaims(Pod pod, Vm vm) throws IOException {
    if (vm.disks().stream().anyMatch(disk -> disk.source() instanceof ClaimSource)) {
      var now = gathering.of(pod);
      Claims.resolve(now.vms().getFirst(), now.volumes(), now.secrets());
    }
  }

  /**
   * The VM is described otherwise than it was, or its volumes are in other places, as they are with
   * every new pod. One that has nothing to keep is made anew.
   */
  private void makeRoom(Owner owner, Plan made) throws IOException {
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

  /** Moves a VM's process into its pod, and gives it the pod's network, before the guest runs. */
  void place(UUID vm, long pid) throws IOException {
    var pod = starts.pod(vm);
    if (pod.isEmpty()) {
      return; // Not a pod's: somebody works with 'platter' on this node.
    }
    places.place(pod.get(), vm, pid);
  }

  /**
   * Gives a guest that runs its network again if the process that does that has died.
   *
   * @return whether it had
   */
  boolean mendNetwork(Pod pod, UUID vm) throws IOException {
    if (!places.hasLostNetwork(vm)) {
      return false;
    }
    var lock = locks.tryLock(key(pod));
    if (lock.isEmpty()) {
      return false;
    }
    try (var _ = lock.get()) {
      if (!places.hasLostNetwork(vm) || node.process(key(pod)).isEmpty()) {
        return false;
      }
      places.mendNetwork(pod, vm);
      return true;
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

  Path consoleLog(VmKey key) {
    var layout = node.layout();
    return layout.consoleLog(layout.vm(key));
  }

  private long console(VmKey key) throws IOException {
    return ConsoleLog.length(consoleLog(key));
  }

  Optional<Owner> owner(VmKey key) throws IOException {
    return owners.find(key);
  }

  /** How many VMs there are, be they running or not. */
  int count() {
    return uuids.size();
  }

  Node node() {
    return node;
  }

  /** Asks the guest to shut down, and ends it when the time is over. */
  void stop(VmKey key, Duration grace) throws IOException {
    var mover = leaving.get(key);
    if (mover != null) {
      mover.interrupt();
    }
    // Not under our lock: a start that takes long must not keep a VM from being stopped.
    node.stop(key, grace);
  }

  /**
   * How the VM ended. Its record is brought up to date.
   *
   * @param process which has ended; empty if there was none
   * @return empty if meanwhile the VM has another process
   */
  Optional<Ending> ended(VmKey key, OptionalLong process) throws IOException {
    try (var _ = locks.lock(key)) {
      var now = status(key).isPresent() ? node.process(key) : OptionalLong.empty();
      if (now.isPresent() && !now.equals(process)) {
        return Optional.empty();
      }
      var memory = places.leave(key);
      if (status(key).isEmpty()) {
        return Optional.of(new Ending(0, Reason.MOVED));
      }
      var ending = memory ? new Ending(KILLED, Reason.OUT_OF_MEMORY) : ending(key);
      node.stop(key, Duration.ZERO);
      release(key);
      return Optional.of(ending);
    }
  }

  private Ending ending(VmKey key) throws IOException {
    if (QemuLog.crashed(node.layout(), key)) {
      return new Ending(1, Reason.CRASHED);
    }
    if (node.status(key).plan().runs().isEmpty()) {
      return new Ending(0, Reason.STOPPED);
    }
    var exit = node.exit(key);
    return exit.isEmpty()
        ? new Ending(KILLED, Reason.CUT_OFF)
        : new Ending(exit.getAsInt(), exit.getAsInt() == 0 ? Reason.COMPLETED : Reason.EXITED);
  }

  /**
   * @param status what the launcher exits with
   */
  record Ending(int status, Reason reason) {
    /** What is left to say about it to who has seen the console and the exit status. */
    String note() {
      return switch (reason) {
        case STOPPED, COMPLETED, EXITED -> "";
        default -> reason.sentence();
      };
    }
  }

  /** Moves a VM that runs to another node; if it fails, the VM runs on here. */
  Migrated leave(VmKey key, Journey to) throws IOException {
    try (var _ = locks.lock(key)) {
      leaving.put(key, Thread.currentThread());
      try {
        return node.migrate(key, to);
      } finally {
        leaving.remove(key);
        Cancellation.shield(() -> forgetIfGone(key));
      }
    }
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

  /**
   * Makes ready for a VM that comes to this pod while it runs. The caller holds the VM's lock, and
   * says {@link #endArrival} in the end.
   *
   * @param from the node that it comes from
   * @return what its disks need
   */
  SecretData beginArrival(Pod pod, Plan plan, String from) throws IOException {
    var owner = Owner.of(pod);
    var key = owner.key();
    known(owner);
    var given = gathering.of(pod);
    var vm = given.vms().getFirst();
    if (!vm.uuid().equals(plan.uuid()) || owner.kind() != Owner.Kind.VIRTUAL_MACHINE) {
      throw PlatterException.of(Code.CONFLICT, "the pod here is of another VM " + key, "");
    }
    var before = status(key);
    if (before.isPresent()) {
      makeRoom(owner, before.get().plan());
    }
    uuids.putIfAbsent(vm.uuid(), key);
    var uses = DiskUse.of(vm, given, plan);
    var begun = owner.startingAt(0, uses.stream().map(DiskLeases::name).distinct().toList());
    owners.put(begun);
    if (!api.keep(key.namespace(), key.name(), owner.uid())) {
      throw PlatterException.of(Code.NOT_FOUND, "there is no VirtualMachine " + key, "");
    }
    leases.take(begun, uses, from);
    starts.begin(vm.uuid(), pod, new StartClock(), Images.BytesDone.NOBODY);
    return given.secrets();
  }

  void endArrival(VmKey key, UUID vm) {
    starts.end(vm);
    forgetIfGone(key);
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
  private void release(VmKey key) throws IOException {
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
