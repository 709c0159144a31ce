package dev.platter.cluster.node;

import dev.platter.model.PlatterException;
import dev.platter.node.VmStatus;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * Removes VMs whose owner is gone: a pod's VM with the pod, a VM object's with the object. Both are
 * asked for by name at the API server itself, and only its clear answer counts: while it is away,
 * or its answer is old, nothing is removed. It is not asked for those whose pods are here, as far
 * as is known: of a pod that goes we are told.
 *
 * <p>A VM whose launcher has ended for good, as one does that is killed, is stopped before: its pod
 * does not go while a volume of it is in use.
 */
final class Reaper {
  private final Owners owners;
  private final PodVms vms;
  private final Api api;
  private final String node;
  private final Consumer<String> log;

  Reaper(Owners owners, PodVms vms, Api api, String node, Consumer<String> log) {
    this.owners = owners;
    this.vms = vms;
    this.api = api;
    this.node = node;
    this.log = log;
  }

  void sweep() {
    try {
      for (var owner : owners.all()) {
        sweep(owner);
      }
      vms.releaseIdle();
    } catch (IOException e) {
      log.accept("the records of owners cannot be read: " + e);
    }
  }

  private void sweep(Owner owner) {
    try {
      switch (owner.kind()) {
        case POD -> pod(owner);
        case VIRTUAL_MACHINE -> vm(owner);
      }
    } catch (KubernetesClientException e) {
      // Nothing is known.
    } catch (IOException | PlatterException e) {
      log.accept(owner.key() + ": cannot be removed: " + e.getMessage());
    }
  }

  private void pod(Owner owner) throws IOException {
    var here = api.podHere(owner.key().namespace(), owner.key().name());
    if (here.filter(pod -> pod.getMetadata().getUid().equals(owner.uid())).isPresent()) {
      stopIfLeft(owner);
      return;
    }
    var pod = api.pod(owner.key().namespace(), owner.key().name());
    if (pod.isEmpty() || !pod.get().getMetadata().getUid().equals(owner.uid())) {
      vms.remove(owner);
    }
  }

  private void vm(Owner owner) throws IOException {
    var key = owner.key();
    if (api.podHere(key.namespace(), key.name()).isPresent()) {
      stopIfLeft(owner);
      return; // It ends first.
    }
    var vm = api.vm(key.namespace(), key.name());
    if (vm.isEmpty() || !vm.get().uid().equals(owner.uid())) {
      vms.remove(owner);
      return;
    }
    var pod = api.pod(key.namespace(), vm.get().pod());
    var there = pod.map(found -> found.getSpec().getNodeName()).orElse(node);
    if (pod.isPresent() && (there == null || there.equals(node))) {
      return; // It ends first.
    }
    stop(key); // Its pod is gone, or is elsewhere: nobody asked its launcher.
    if (vm.get().deleted() && pod.isEmpty()) {
      vms.remove(owner, () -> api.release(vm.get()));
    }
  }

  private void stop(VmKey key) throws IOException {
    var status = vms.status(key);
    if (status.isPresent() && status.get().phase() != VmStatus.Phase.STOPPED) {
      vms.stop(key, Duration.ZERO);
    }
  }

  /** A VM that has moved to and fro may have had other pods here. */
  private void stopIfLeft(Owner owner) throws IOException {
    var launcher = owner.launcher();
    if (launcher != null && api.pod(launcher.uid()).filter(Reaper::hasEnded).isPresent()) {
      stop(owner.key());
    }
  }

  /** Whether its container has ended, and will not be started again. */
  private static boolean hasEnded(Pod pod) {
    var status = pod.getStatus();
    var containers = status == null ? List.<ContainerStatus>of() : status.getContainerStatuses();
    return !containers.isEmpty()
        && (pod.getMetadata().getDeletionTimestamp() != null || isTerminal(pod))
        && containers.stream()
            .allMatch(it -> it.getState() != null && it.getState().getTerminated() != null);
  }

  private static boolean isTerminal(Pod pod) {
    return "Failed".equals(pod.getStatus().getPhase())
        || "Succeeded".equals(pod.getStatus().getPhase());
  }
}
