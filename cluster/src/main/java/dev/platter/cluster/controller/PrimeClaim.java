package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
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

  static PersistentVolumeClaim of(PersistentVolumeClaim claim, SourceKey source) {
    var meta = metadata(claim, source);
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
