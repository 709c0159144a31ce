package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.node.Journey;
import dev.platter.node.Migrated;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The VMs of this node's launcher pods: how they begin ({@link PodStarts}, {@link PodArrivals}),
 * where they are, and how they end.
 */
final class PodVms {
  /** As a shell shows a process that was killed. */
  private static final int KILLED = 137;

  private final Node node;
  private final Owners owners;
  private final PodPlaces places;
  private final Starts starts;
  private final KnownVms known;
  private final PodStarts podStarts;
  private final PodArrivals arrivals;

  /** Those who move a VM away; a stop comes first. */
  private final Map<VmKey, Thread> leaving = new ConcurrentHashMap<>();

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
    this.owners = owners;
    this.starts = starts;
    this.places = new PodPlaces(cgroups, node.layout());
    this.known = new KnownVms(node, api, owners, leases, places, log);
    this.podStarts = new PodStarts(known, node, api, gathering, owners, leases, starts);
    this.arrivals = new PodArrivals(known, node, api, gathering, owners, leases, starts);
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

  /** Whoever has it is the only one who does anything to the VM. */
  Locks.Held lock(VmKey key) {
    return known.lock(key);
  }

  StartClock start(Pod pod) throws IOException {
    return start(pod, Images.BytesDone.NOBODY);
  }

  /** As {@link PodStarts#start}. */
  StartClock start(Pod pod, Images.BytesDone told) throws IOException {
    return podStarts.start(pod, told);
  }

  /** As {@link PodStarts#startEarly}. */
  Optional<StartClock> startEarly(Pod pod, EarlyStart early) throws IOException {
    return podStarts.startEarly(pod, early);
  }

  /** VMs that come while they run. */
  PodArrivals arrivals() {
    return arrivals;
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
    var lock = known.tryLock(key(pod));
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
    return known.status(key);
  }

  Path consoleLog(VmKey key) {
    var layout = node.layout();
    return layout.consoleLog(layout.vm(key));
  }

  Optional<Owner> owner(VmKey key) throws IOException {
    return owners.find(key);
  }

  /** How many VMs there are, be they running or not. */
  int count() {
    return known.count();
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
    try (var _ = known.lock(key)) {
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
      known.release(key);
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
    try (var _ = known.lock(key)) {
      leaving.put(key, Thread.currentThread());
      try {
        return node.migrate(key, to);
      } finally {
        leaving.remove(key);
        Cancellation.shield(() -> known.forgetIfGone(key));
      }
    }
  }

  /** As {@link KnownVms#forgetIfIdle}. */
  void forgetIfIdle(VmKey key) {
    known.forgetIfIdle(key);
  }

  /** Takes down, with all its disks, what was made for an owner that is gone. */
  void remove(Owner owner) throws IOException {
    known.remove(owner);
  }

  /**
   * @param removed done when nothing is left, and again if this does not come to its end
   */
  void remove(Owner owner, Runnable removed) throws IOException {
    known.remove(owner, removed);
  }

  /** Gives back the leases of VMs that do not run, where that could not be done at once. */
  void releaseIdle() throws IOException {
    known.releaseIdle();
  }
}
