package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The claim that a volume is made for before it is another's: the same as that one, but that it
 * names nothing which it were to be filled from, or a snapshot that a driver makes the volume from.
 * It belongs to the other and goes with it.
 */
final class PrimeClaim {
  static final String SELECTED_NODE = "volume.kubernetes.io/selected-node";

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

  static boolean isBlock(PersistentVolumeClaim claim) {
    return "Block".equals(claim.getSpec().getVolumeMode());
  }

  /** In bytes, as it was asked for. */
  static long size(PersistentVolumeClaim claim) {
    var size = claim.getSpec().getResources().getRequests().get("storage");
    return Quantity.getAmountInBytes(size).longValue();
  }

  /** The namespace of what it is to be filled from, if that is another than its own. */
  static Optional<String> foreignNamespace(PersistentVolumeClaim claim) {
    return Optional.ofNullable(claim.getSpec().getDataSourceRef().getNamespace())
        .filter(namespace -> !namespace.equals(claim.getMetadata().getNamespace()));
  }

  /** Whether its volume is made from a snapshot, by the driver: no pod fills it. */
  static boolean isCopy(PersistentVolumeClaim prime) {
    return prime.getSpec().getDataSource() != null;
  }

  /**
   * Whether the driver cannot make its volume on the node that was said; no pod chooses another.
   */
  static boolean hasLostItsNode(PersistentVolumeClaim prime) {
    var annotations = prime.getMetadata().getAnnotations();
    return annotations.containsKey(Names.FILLS_NODE) && selectedNode(prime) == null;
  }

  /** Of what was copied; null if nobody knows. */
  static @Nullable String digest(PersistentVolumeClaim prime) {
    return Optional.ofNullable(prime.getMetadata().getAnnotations())
        .map(annotations -> annotations.get(Names.FILLS_DIGEST))
        .orElse(null);
  }

  /** What it has in common with the pod. */
  static ObjectMeta metadata(PersistentVolumeClaim claim, SourceKey source) {
    return Owned.metadata(claim, name(claim))
        .addToLabels(Names.FILLS, claim.getMetadata().getUid())
        .addToAnnotations(Names.FILLS_FROM, source.inNamespace())
        .build();
  }

  /** One whose volume the pod writes to. */
  static PersistentVolumeClaim of(PersistentVolumeClaim claim, SourceKey source, Pod pod) {
    var out = on(selectedNode(claim), claim, source).build();
    out.getMetadata().getAnnotations().put(Names.FILLED_BY, pod.getMetadata().getUid());
    return out;
  }

  /** One whose volume begins as an image on that node. */
  static PersistentVolumeClaim of(
      PersistentVolumeClaim claim, SourceKey source, Pod pod, String node) {
    var out = of(claim, source, pod);
    out.getMetadata().getAnnotations().put(Names.FILLS_NODE, node);
    return out;
  }

  /** One whose volume the driver makes from a snapshot. */
  static PersistentVolumeClaim of(PersistentVolumeClaim claim, SourceKey source, Way.Copy from) {
    var out =
        on(from.node(), claim, source)
            .editSpec()
            .withNewDataSource(SnapshotApi.GROUP, SnapshotApi.SNAPSHOT_KIND, from.snapshot())
            .editResources()
            .addToRequests("storage", from.size())
            .endResources()
            .endSpec()
            .build();
    if (from.node() != null) {
      out.getMetadata().getAnnotations().put(Names.FILLS_NODE, from.node());
    }
    if (from.digest() != null) {
      out.getMetadata().getAnnotations().put(Names.FILLS_DIGEST, from.digest());
    }
    return out;
  }

  private static PersistentVolumeClaimBuilder on(
      @Nullable String node, PersistentVolumeClaim claim, SourceKey source) {
    var meta = metadata(claim, source);
    if (node != null) {
      meta.getAnnotations().put(SELECTED_NODE, node);
    }
    return new PersistentVolumeClaimBuilder()
        .withMetadata(meta)
        .withNewSpecLike(claim.getSpec())
        .withDataSource(null)
        .withDataSourceRef(null)
        .withVolumeName(null)
        .endSpec();
  }
}
