package dev.platter.cluster.controller;

import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Quantity;

/**
 * The claims that identities of volumes need: one that an image is written to, and one for each
 * identity, made from the snapshot of that. Both are block devices: a disk needs no file system
 * below it. They are complete when they are made, since hardly anything of a claim can be changed
 * later.
 */
final class VolumeClaims {
  private static final long MEBIBYTE = 1L << 20;

  /** By what a scheduler tells a driver where a volume is to be. */
  private static final String SELECTED_NODE = "volume.kubernetes.io/selected-node";

  private VolumeClaims() {}

  /** For an image of this size. */
  static PersistentVolumeClaim of(VmImage image, long size) {
    var name = image.getMetadata().getName();
    return claim(image.storageClass(), size)
        .withMetadata(Owned.metadata(image, name).addToLabels(Names.IMAGE, name).build())
        .build();
  }

  /** Where a snapshot is on one node the claim says so: no scheduler knows, and pods follow. */
  static PersistentVolumeClaim of(VmIdentity identity, VmImage image, long size) {
    var name = identity.getMetadata().getName();
    var metadata =
        Owned.metadata(identity, VmIdentity.claimName(name))
            .addToLabels(Names.IMAGE, image.getMetadata().getName())
            .addToLabels(Names.IDENTITY, name);
    var node = ImageStatus.of(image).nodeName();
    if (node != null) {
      metadata.addToAnnotations(SELECTED_NODE, node);
    }
    return claim(image.storageClass(), size)
        .withMetadata(metadata.build())
        .editSpec()
        .withNewDataSource(
            SnapshotApi.GROUP, SnapshotApi.SNAPSHOT_KIND, image.getMetadata().getName())
        .endSpec()
        .build();
  }

  private static PersistentVolumeClaimBuilder claim(String storageClass, long size) {
    return new PersistentVolumeClaimBuilder()
        .withNewSpec()
        .withAccessModes("ReadWriteOnce")
        .withVolumeMode("Block")
        .withStorageClassName(storageClass)
        .withNewResources()
        .addToRequests("storage", new Quantity(Long.toString(whole(size))))
        .endResources()
        .endSpec();
  }

  /** Drivers round up themselves, each as it likes; so far all agree. */
  private static long whole(long size) {
    return Math.ceilDiv(size, MEBIBYTE) * MEBIBYTE;
  }
}
