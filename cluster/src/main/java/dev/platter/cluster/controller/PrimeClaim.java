package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The claim that a volume is made for before it is another's: the same as that one, but that it
 * names nothing which it were to be filled from. It belongs to the other and goes with it.
 */
final class PrimeClaim {
  private static final String SELECTED_NODE = "volume.kubernetes.io/selected-node";

  private PrimeClaim() {}

  static String name(PersistentVolumeClaim claim) {
    return Names.FILLS_PREFIX + claim.getMetadata().getUid();
  }

  static String key(PersistentVolumeClaim claim) {
    return claim.getMetadata().getNamespace() + "/" + name(claim);
  }

  /** Where the scheduler wants a pod that has the claim; null if it has not decided. */
  static @Nullable String selectedNode(PersistentVolumeClaim claim) {
    return Optional.ofNullable(claim.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(SELECTED_NODE))
        .orElse(null);
  }

  /** Whether the volume that it has is gone. */
  static boolean isLost(PersistentVolumeClaim claim) {
    return claim.getStatus() != null && "Lost".equals(claim.getStatus().getPhase());
  }

  /** The digest of the disk that was written to a volume; null if none was. */
  static @Nullable String filled(PersistentVolume volume) {
    return Optional.ofNullable(volume.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.FILLED))
        .orElse(null);
  }

  /** Whether somebody may be deleting what is on the volume: nobody claims it, or it ends. */
  static boolean isGivenUp(PersistentVolume volume) {
    return Owned.ends(volume)
        || (volume.getStatus() != null
            && List.of("Released", "Failed").contains(volume.getStatus().getPhase()));
  }

  /** Whether both are of one attempt. */
  static boolean isFor(PersistentVolumeClaim prime, Pod pod) {
    var annotations = prime.getMetadata().getAnnotations();
    return annotations != null
        && pod.getMetadata().getUid().equals(annotations.get(Names.FILLED_BY));
  }

  static boolean isBound(PersistentVolumeClaim claim) {
    return claim.getStatus() != null && "Bound".equals(claim.getStatus().getPhase());
  }

  /** What it has in common with the pod. */
  static ObjectMeta metadata(PersistentVolumeClaim claim, SourceKey source) {
    return Owned.metadata(claim, name(claim))
        .addToLabels(Names.FILLS, claim.getMetadata().getUid())
        .addToAnnotations(Names.FILLS_FROM, source.inNamespace())
        .build();
  }

  static PersistentVolumeClaim of(PersistentVolumeClaim claim, SourceKey source, Pod pod) {
    var meta = metadata(claim, source);
    meta.getAnnotations().put(Names.FILLED_BY, pod.getMetadata().getUid());
    var node = selectedNode(claim);
    if (node != null) {
      meta.getAnnotations().put(SELECTED_NODE, node);
    }
    return new PersistentVolumeClaimBuilder()
        .withMetadata(meta)
        .withNewSpecLike(claim.getSpec())
        .withDataSource(null)
        .withDataSourceRef(null)
        .withVolumeName(null)
        .endSpec()
        .build();
  }
}
