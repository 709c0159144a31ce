package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Looks at one group, lets {@link GroupRules} decide, and carries it out. */
final class GroupReconciler implements ControlLoop.Work {
  /** How often a name that another VM has is tried again: nothing tells when it is free. */
  private static final Duration NAME_WAIT = Duration.ofSeconds(30);

  /** What informers know. */
  interface Known {
    @Nullable VirtualMachineGroup group(String key);

    List<VirtualMachine> vms(String namespace);
  }

  private final Known known;
  private final Cluster cluster;
  private final InstantSource clock;

  GroupReconciler(Known known, Cluster cluster, InstantSource clock) {
    this.known = known;
    this.cluster = cluster;
    this.clock = clock;
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var group = known.group(key);
    if (group == null) {
      return null;
    }
    var vms = known.vms(group.getMetadata().getNamespace());
    var decision = GroupRules.decide(group, vms, clock.instant());
    var taken = 0;
    for (var vm : decision.create()) {
      try {
        cluster.create(vm);
        tell(group, "Made " + vm.getMetadata().getName() + ".");
      } catch (KubernetesClientException e) {
        if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
          throw e;
        }
        taken++;
      }
    }
    for (var vm : decision.delete()) {
      cluster.delete(vm);
      tell(group, "Removed " + vm.getMetadata().getName() + ".");
    }
    var before = VirtualMachineGroup.Status.of(group);
    var status = taken == 0 ? decision.status() : taken(group, decision.status(), taken);
    if (!status.equals(before)) {
      cluster.status(group, status);
    }
    return taken > 0 ? NAME_WAIT : decision.again();
  }

  private void tell(VirtualMachineGroup group, String message) {
    cluster.event(group, Reason.SCALED, message);
  }

  /** Or the informer does not show a VM that was made just now; then the next look says so. */
  private VirtualMachineGroup.Status taken(
      VirtualMachineGroup group, VirtualMachineGroup.Status status, int count) {
    var before = VirtualMachineGroup.Status.of(group).conditions();
    var generation = group.getMetadata().getGeneration();
    var conditions =
        new Conditions(before, generation, clock.instant())
            .add(
                Condition.READY,
                false,
                Reason.NAME_TAKEN,
                count + " of the names of its VMs are taken by VMs that are not the group's.")
            .all();
    return new VirtualMachineGroup.Status(
        status.replicas(), status.readyReplicas(), status.labelSelector(), conditions, generation);
  }
}
