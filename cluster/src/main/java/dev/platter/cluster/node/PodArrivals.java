package dev.platter.cluster.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.GuestArrivals;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** VMs that come to launcher pods of this node while they run. */
final class PodArrivals {
  private final KnownVms vms;
  private final Node node;
  private final Api api;
  private final Gathering gathering;
  private final Owners owners;
  private final DiskLeases leases;
  private final Starts starts;
  private final AwaitedVms awaited = new AwaitedVms();

  PodArrivals(
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

  AwaitedVms awaited() {
    return awaited;
  }

  /** Whether the VM that comes to this pod is there. */
  boolean hasArrived(Pod pod) throws IOException {
    var key = PodVms.key(pod);
    var launcher = owners.find(key).map(Owner::launcher);
    var status = vms.status(key).map(VmStatus::phase);
    return launcher.filter(it -> it.uid().equals(pod.getMetadata().getUid())).isPresent()
        && status.isPresent()
        && status.get() != VmStatus.Phase.CHANGING
        && status.get() != VmStatus.Phase.UNKNOWN;
  }

  /**
   * Makes ready for a VM that comes to this pod while it runs. The caller holds the VM's lock, and
   * says {@link #end} in the end.
   *
   * @param sent its plan, as the node says that it comes from
   * @return what it has to be
   */
  GuestArrivals.Known begin(Pod pod, Plan sent, String from) throws IOException {
    var owner = Owner.of(pod);
    var key = owner.key();
    vms.known(owner);
    var given = gathering.of(pod);
    var vm = given.vms().getFirst();
    if (!vm.uuid().equals(sent.uuid()) || owner.kind() != Owner.Kind.VIRTUAL_MACHINE) {
      throw PlatterException.of(Code.CONFLICT, "the pod here is of another VM " + key, "");
    }
    var before = vms.status(key);
    if (before.isPresent()) {
      vms.makeRoom(owner, before.get().plan());
    }
    var planned = node.planArriving(vm, given, sent.images());
    var uses = DiskUse.of(vm, given, planned.plan());
    vms.take(vm.uuid(), key);
    var begun = owner.startingAt(0, uses.stream().map(DiskLeases::name).distinct().toList());
    owners.put(begun);
    if (!api.keep(key.namespace(), key.name(), owner.uid())) {
      throw PlatterException.of(Code.NOT_FOUND, "there is no VirtualMachine " + key, "");
    }
    leases.take(begun, uses, from);
    starts.begin(vm.uuid(), pod, new StartClock(), Images.BytesDone.NOBODY);
    return new GuestArrivals.Known(planned, given.secrets());
  }

  /**
   * @param vm null if it was not begun, or failed
   */
  void end(VmKey key, @Nullable UUID vm) {
    if (vm != null) {
      starts.end(vm);
    }
    vms.forgetIfGone(key);
  }
}
