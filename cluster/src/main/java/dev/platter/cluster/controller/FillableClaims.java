package dev.platter.cluster.controller;

import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.Names;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.client.informers.cache.BasicItemStore;
import org.jspecify.annotations.Nullable;

/**
 * What an informer keeps of all claims of a cluster: those that are filled by us, the prime ones,
 * and those of DataVolumes. What a claim names cannot be selected by, nor can it ever change; all
 * others only pass by.
 */
final class FillableClaims extends BasicItemStore<PersistentVolumeClaim> {
  FillableClaims() {
    super(Owned::key);
  }

  private static boolean isKept(PersistentVolumeClaim claim) {
    return claim.getMetadata().getName().startsWith(Names.FILLS_PREFIX)
        || isOfDataVolume(claim)
        || KubePopulations.source(claim).isPresent();
  }

  static boolean isOfDataVolume(PersistentVolumeClaim claim) {
    return claim.getMetadata().getOwnerReferences().stream()
        .anyMatch(owner -> owner.getKind().equals(DataVolume.KIND));
  }

  // What was there before, which may be nothing.
  @SuppressWarnings("NullAway")
  @Override
  public @Nullable PersistentVolumeClaim put(String key, PersistentVolumeClaim claim) {
    return isKept(claim) ? super.put(key, claim) : null;
  }
}
