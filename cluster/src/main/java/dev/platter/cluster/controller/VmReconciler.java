package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.controller.Decision.Intent;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Looks at one VM, lets {@link VmRules} decide, and carries it out. */
final class VmReconciler implements ControlLoop.Work {
  /** What informers know, by {@code NAMESPACE/NAME} or, of nodes, by name. */
  interface Known {
    @Nullable VirtualMachine vm(String key);

    @Nullable Pod pod(String key);

    @Nullable Node node(String name);

    /** A pod of a container that makes volumes, or serves a disk. */
    @Nullable Pod source(String key);
  }

  private final Known known;
  private final Cluster cluster;
  private final Sources sources;
  private final Wrappers wrappers;
  private final InstantSource clock;

  /** Between two pods of a VM nothing else says how often it was started in vain. */
  private final Map<String, Integer> restarts = new ConcurrentHashMap<>();

  VmReconciler(
      Known known, Cluster cluster, Sources sources, Wrappers wrappers, InstantSource clock) {
    this.known = known;
    this.cluster = cluster;
    this.sources = sources;
    this.wrappers = wrappers;
    this.clock = clock;
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var vm = known.vm(key);
    if (vm == null) {
      restarts.remove(key);
      return null;
    }
    if (vm.getMetadata().getDeletionTimestamp() != null && forgetLostNodes(vm)) {
      return null; // It comes again with fewer finalizers.
    }
    var pod = pod(vm);
    if (pod == null && VmStatus.of(vm).podName() != null) {
      cluster.podGone(vm);
      return null; // It comes again, to be started under its own name.
    }
    var volumes = sources.tend(key, vm).with(wrappers.tend(key, vm));
    var claimed = !volumes.offers().isEmpty();
    var decision = VmRules.decide(view(key, vm, pod, volumes));
    try {
      return SourceView.sooner(carryOut(key, vm, decision, false), volumes.again());
    } catch (NameTaken e) {
      // The informer is behind, or does not show the pod because it is not a VM's.
      return carryOut(key, vm, VmRules.decide(view(key, vm, e.by, volumes)), claimed);
    } catch (PodRefused e) {
      var refused = VmRules.refused(view(key, vm, null, volumes), e.answer.getMessage());
      carryOut(key, vm, refused, claimed);
      throw e.answer;
    }
  }

  /** The pod that it has moved to is nobody else's, so its absence must be certain. */
  private @Nullable Pod pod(VirtualMachine vm) {
    var meta = vm.getMetadata();
    var name = VmStatus.of(vm).pod(meta.getName());
    var found = known.pod(meta.getNamespace() + "/" + name);
    return found != null || name.equals(meta.getName())
        ? found
        : cluster.pod(meta.getNamespace(), name);
  }

  /** Nobody will ever remove the disks on a node that the cluster does not have any more. */
  private boolean forgetLostNodes(VirtualMachine vm) {
    var finalizers = vm.getMetadata().getFinalizers();
    var rest = new ArrayList<String>();
    for (var finalizer : finalizers) {
      var node = Names.nodeOf(finalizer);
      if (node.isEmpty() || known.node(node.get()) != null) {
        rest.add(finalizer);
      } else {
        cluster.event(
            vm,
            Reason.DISKS_ABANDONED,
            "The cluster has no node " + node.get() + " any more, which had disks of the VM.");
      }
    }
    if (rest.size() == finalizers.size()) {
      return false;
    }
    cluster.finalizers(vm, rest);
    return true;
  }

  private VmView view(String key, VirtualMachine vm, @Nullable Pod pod, SourceView volumes) {
    var node = VmView.nodeName(vm, pod);
    return new VmView(
        vm,
        pod,
        node == null ? NodeState.UP : NodeState.of(known.node(node)),
        volumes,
        restarts.getOrDefault(key, 0),
        clock.instant());
  }

  /**
   * @param claimed whether the server's status of the VM may be newer than what was decided on
   */
  private @Nullable Duration carryOut(
      String key, VirtualMachine vm, Decision decision, boolean claimed) {
    if (decision.restarts() == 0) {
      restarts.remove(key);
    } else {
      restarts.put(key, decision.restarts());
    }
    var first = givesAway(vm, decision);
    if (first) {
      // What a pod uses up is used up, even if nobody lives to see that the pod was made.
      cluster.statusOfThis(vm, decision.status());
    }
    for (var intent : decision.intents()) {
      carryOut(vm, intent);
    }
    if (claimed || (!first && !decision.status().equals(VmStatus.of(vm).withoutDisks()))) {
      cluster.status(vm, decision.status());
    }
    return decision.again();
  }

  private static boolean givesAway(VirtualMachine vm, Decision decision) {
    return !decision.status().sources().equals(VmStatus.of(vm).sources())
        && decision.intents().stream().anyMatch(Decision.CreatePod.class::isInstance);
  }

  private void carryOut(VirtualMachine vm, Intent intent) {
    switch (intent) {
      case Decision.AddFinalizer _ -> {
        var all = new ArrayList<>(vm.getMetadata().getFinalizers());
        all.add(Names.FINALIZER);
        cluster.finalizers(vm, all);
      }
      case Decision.RemoveFinalizer _ -> release(vm);
      case Decision.CreatePod create -> create(vm, create.pod());
      case Decision.DeletePod delete -> cluster.delete(delete.pod());
      case Decision.Event event -> cluster.event(vm, event.reason(), event.message());
    }
  }

  /** A pod that the informer does not show yet may be about to make disks. */
  private void release(VirtualMachine vm) {
    var meta = vm.getMetadata();
    var pod = cluster.pod(meta.getNamespace(), VmStatus.of(vm).pod(meta.getName()));
    if (pod != null && VmPod.ownedBy(vm, pod)) {
      throw new KubernetesClientException(
          "the informer is behind", HttpURLConnection.HTTP_CONFLICT, null);
    }
    var rest = new ArrayList<>(meta.getFinalizers());
    rest.remove(Names.FINALIZER);
    cluster.finalizers(vm, rest);
  }

  private void create(VirtualMachine vm, Pod pod) {
    try {
      cluster.create(pod);
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        throw new PodRefused(e);
      }
      var meta = vm.getMetadata();
      var there = cluster.pod(meta.getNamespace(), meta.getName());
      if (there == null) {
        throw e;
      }
      throw new NameTaken(there);
    }
  }

  /** By the webhook, a quota, a policy: something that the VM's user has to know. */
  private static final class PodRefused extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final KubernetesClientException answer;

    PodRefused(KubernetesClientException answer) {
      super("the pod was refused", answer, false, false);
      this.answer = answer;
    }
  }

  private static final class NameTaken extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final transient Pod by;

    NameTaken(Pod by) {
      super("a pod of the name exists", null, false, false);
      this.by = by;
    }
  }
}
