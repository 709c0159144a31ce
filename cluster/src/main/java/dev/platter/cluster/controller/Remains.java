package dev.platter.cluster.controller;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import org.jspecify.annotations.Nullable;

/** The pod and the prime claim of a claim, when they are not needed any more. */
final class Remains {
  private final Populations cluster;

  Remains(Populations cluster) {
    this.cluster = cluster;
  }

  /** Takes away what is there for the claim. */
  void clear(PersistentVolumeClaim claim) {
    var pod = cluster.pod(PrimeClaim.key(claim));
    if (pod == null || !PrimeClaim.isBound(claim) || !DrawPod.is(pod) || DrawPod.isOver(pod)) {
      remove(claim, pod);
    } // Else the claim's volume needs what the pod is there for.
    remove(claim, cluster.claim(PrimeClaim.key(claim)));
  }

  /** What is not the claim's stays, whatever its name. */
  void remove(PersistentVolumeClaim claim, @Nullable HasMetadata object) {
    if (object != null && Owned.by(claim, object) && !Owned.ends(object)) {
      cluster.delete(object);
    }
  }
}
