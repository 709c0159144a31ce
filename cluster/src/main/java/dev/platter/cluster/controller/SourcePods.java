package dev.platter.cluster.controller;

import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;

/** The pods of one VM in which containers make its volumes, or serve its disks. */
final class SourcePods {
  /** A pod that has not run after this time is made anew: its Secret may be missing for ever. */
  static final Duration LONGEST_START = Duration.ofMinutes(5);

  private final VmReconciler.Known known;
  private final Cluster cluster;
  private final InstantSource clock;
  private final VirtualMachine vm;

  SourcePods(VmReconciler.Known known, Cluster cluster, InstantSource clock, VirtualMachine vm) {
    this.known = known;
    this.cluster = cluster;
    this.clock = clock;
    this.vm = vm;
  }

  /** A pod of ours, which informers show. */
  Optional<Pod> find(String disk) {
    var name = vm.getMetadata().getNamespace() + "/" + SourcePod.name(vm, disk);
    return Optional.ofNullable(known.source(name)).filter(pod -> VmPod.ownedBy(vm, pod));
  }

  /** The same, past the informers. */
  Optional<Pod> now(String disk) {
    var found = cluster.pod(vm.getMetadata().getNamespace(), SourcePod.name(vm, disk));
    return Optional.ofNullable(found).filter(pod -> VmPod.ownedBy(vm, pod));
  }

  /** The VM's own, past the informers: a guest may be about to use what would be removed. */
  Optional<Pod> vmPod() {
    var meta = vm.getMetadata();
    var now = cluster.vm(meta.getNamespace(), meta.getName());
    var name = VmStatus.of(now == null ? vm : now).pod(meta.getName());
    return Optional.ofNullable(cluster.pod(meta.getNamespace(), name))
        .filter(pod -> VmPod.ownedBy(vm, pod));
  }

  /** Whether the VM still says so, past the informers. */
  boolean vmHas(VmStatus.SourceStatus status) {
    var now = cluster.vm(vm.getMetadata().getNamespace(), vm.getMetadata().getName());
    return now != null
        && now.getMetadata().getUid().equals(vm.getMetadata().getUid())
        && VmStatus.of(now).sources().contains(status);
  }

  /** One that has ended for good, or never began, gives way to another. */
  void renew(Pod pod) {
    var view = new PodView(pod);
    var pending = pod.getStatus() != null && "Pending".equals(pod.getStatus().getPhase());
    var made = Instant.parse(pod.getMetadata().getCreationTimestamp());
    if (!view.deleting()
        && (view.finished() || (pending && made.plus(LONGEST_START).isBefore(clock.instant())))) {
      cluster.delete(pod);
    }
  }

  /** Informers show it later. */
  void create(SourcePod.Made made) {
    Pod pod;
    try {
      pod = cluster.create(made.pod());
    } catch (KubernetesClientException e) {
      var meta = made.pod().getMetadata();
      var there =
          e.getCode() == HttpURLConnection.HTTP_CONFLICT
              ? cluster.pod(meta.getNamespace(), meta.getName())
              : null;
      if (there != null && VmPod.ownedBy(vm, there)) {
        return;
      }
      throw e;
    }
    var secret = made.secret();
    if (secret != null) {
      cluster.create(secret.apply(pod));
    }
  }

  void delete(Pod pod) {
    if (pod.getMetadata().getDeletionTimestamp() == null) {
      cluster.delete(pod);
    }
  }

  /** Not in the node's network, where it would have the node's address. */
  static boolean ready(Pod pod) {
    var view = new PodView(pod);
    var ready = view.condition("Ready");
    return !view.deleting()
        && ready != null
        && "True".equals(ready.getStatus())
        && pod.getStatus().getPodIP() != null
        && !Boolean.TRUE.equals(pod.getSpec().getHostNetwork());
  }
}
