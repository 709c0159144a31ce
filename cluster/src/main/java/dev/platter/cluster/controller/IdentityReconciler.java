package dev.platter.cluster.controller;

import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.IdentityOrder;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes the identities that pods ask for, says that a disk should be where its pod is, and lets
 * those go whose disk nobody can remove any more. All the rest is the nodes': each makes and
 * removes the disks that it has to have.
 */
final class IdentityReconciler implements ControlLoop.Work {
  /** What informers know. */
  interface Known {
    @Nullable VmIdentity identity(String key);

    @Nullable VmIdentitySet set(String key);

    /** The launcher pods that name this identity. */
    List<Pod> pods(String key);

    boolean hasNode(String name);
  }

  /** The changes that it makes; each may fail with a {@code KubernetesClientException}. */
  interface Changes {
    void create(VmIdentity identity);

    /** If it is still the version that was looked at. */
    void finalizers(VmIdentity identity, List<String> finalizers);

    /** Where its disk should be; if it is still the version that was looked at. */
    void place(VmIdentity identity, String node);

    void event(HasMetadata about, Reason reason, String message);
  }

  private final Known known;
  private final Changes changes;
  private final VolumeIdentities volumes;

  IdentityReconciler(Known known, Changes changes, VolumeIdentities volumes) {
    this.known = known;
    this.changes = changes;
    this.volumes = volumes;
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var identity = known.identity(key);
    if (identity == null) {
      known.pods(key).stream()
          .filter(pod -> pod.getMetadata().getDeletionTimestamp() == null)
          // The pod of a pet is there because of its identity, which it must not bring back.
          .filter(pod -> !pod.getMetadata().getLabels().containsKey(Names.PET))
          .filter(pod -> pod.getSpec().getNodeName() != null || !isLocal(pod))
          .min(Comparator.comparing(pod -> pod.getMetadata().getCreationTimestamp()))
          .ifPresent(this::make);
    } else if (!identity.local()) {
      return volumes.reconcile(identity);
    } else if (identity.ends()) {
      letGo(identity);
    } else {
      IdentityPlacement.of(identity, known.pods(key))
          .ifPresent(node -> changes.place(identity, node));
    }
    return null;
  }

  /** A pod whose disk is a claim is not placed before there is one. */
  private boolean isLocal(Pod pod) {
    var meta = pod.getMetadata();
    var set = known.set(meta.getNamespace() + "/" + meta.getAnnotations().get(Names.IDENTITY_SET));
    return set == null || set.local();
  }

  private void make(Pod pod) {
    var meta = pod.getMetadata();
    var name = meta.getLabels().getOrDefault(Names.IDENTITY, meta.getName());
    var order = IdentityOrder.of(pod);
    var set = known.set(meta.getNamespace() + "/" + order.set());
    var refusal = order.refusal(set);
    if (set == null || refusal.isPresent()) {
      refusal.ifPresent(why -> changes.event(pod, why.reason(), why.message()));
      return;
    }
    changes.create(set.identity(name, pod.getSpec().getNodeName()));
  }

  /**
   * A node lets its own go. Where no node has a disk there is none; a node that is making one just
   * now cannot say so any more, and removes it.
   */
  private void letGo(VmIdentity identity) {
    var node = IdentityStatus.of(identity).nodeName();
    if (!identity.waitsForDisk() || (node != null && known.hasNode(node))) {
      return;
    }
    if (node != null) {
      changes.event(identity, Reason.DISKS_ABANDONED, "The node " + node + " is gone.");
    }
    changes.finalizers(identity, Finalizers.without(identity, Names.DISK_FINALIZER));
  }

  /** The identity that a launcher pod names, as a key; null if it names none. */
  static @Nullable String key(Pod pod) {
    Map<String, String> labels = pod.getMetadata().getLabels();
    var name = labels == null ? null : labels.get(Names.IDENTITY);
    return name == null ? null : pod.getMetadata().getNamespace() + "/" + name;
  }
}
