package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.controller.Storage.VolumeClass;
import dev.platter.model.ByteSize;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds the way in which a claim gets its disk: a copy of what is there, or a pod that writes. */
final class Ways {
  private final Populations cluster;
  private final Originals originals;

  Ways(Populations cluster, Originals originals) {
    this.cluster = cluster;
    this.originals = originals;
  }

  /**
   * @param volumes the claim's class; null if it wants a volume that has none
   * @param again whether another try has failed
   */
  Way of(
      ClaimSource source,
      PersistentVolumeClaim claim,
      @Nullable VolumeClass volumes,
      boolean again) {
    return switch (source) {
      case VmImage image -> of(image, claim, volumes);
      case DiskSource disk when disk.archive() && PrimeClaim.isBlock(claim) ->
          new Way.Wait(
              Reason.UNSUPPORTED,
              "An archive is unpacked into a file system, and the claim is a device; make one without"
                  + " volumeMode: Block.");
      case DiskSource disk when lacksPod(disk, claim, volumes) ->
          Way.Wait.of(Reason.WAITING_FOR_CONSUMER);
      case DiskImport disk when originals.areMade(disk, claim) -> of(disk, claim, again);
      case DiskSource disk -> new Way.Write(disk);
    };
  }

  private static boolean lacksPod(
      ClaimSource source, PersistentVolumeClaim claim, @Nullable VolumeClass volumes) {
    return volumes != null
        && volumes.waits()
        && PrimeClaim.selectedNode(claim) == null
        && !source.immediate();
  }

  private Way of(DiskImport source, PersistentVolumeClaim claim, boolean again) {
    var original = originals.find(source, claim);
    if (original.isPresent()) {
      var about = original.get().about();
      return new Way.Copy(
          original.get().name(), original.get().sizeFor(claim), about.digest(), about.node());
    }
    // What a node cannot fetch a pod perhaps can: it has another network.
    if (!again && DrawPod.isPossible(source, claim) && isForVms(claim)) {
      return new Way.Draw(source);
    }
    return originals.isNext(source, claim)
        ? new Way.Write(source)
        : new Way.Wait(
            Reason.WAITING_FOR_IMAGE,
            "Another claim is filled with it, and this one is made from that.");
  }

  /** Others have to wait for all of the disk anyway, and then it is better shared. */
  private boolean isForVms(PersistentVolumeClaim claim) {
    var users = cluster.users(claim);
    return !users.isEmpty()
        && users.stream()
            .map(pod -> Optional.ofNullable(pod.getMetadata().getLabels()))
            .allMatch(labels -> labels.map(it -> it.get(Names.LAUNCHER)).isPresent());
  }

  private Way of(VmImage image, PersistentVolumeClaim claim, @Nullable VolumeClass volumes) {
    var status = ImageStatus.of(image);
    var least = status.size();
    if (!status.ready() || least == null) {
      return waitFor(image, status);
    }
    var drivers = cluster.volumeClass(image.storageClass()).map(VolumeClass::driver);
    if (volumes == null || drivers.filter(volumes.driver()::equals).isEmpty()) {
      return new Way.Wait(
          Reason.INVALID,
          "The image is in the StorageClass %s; the claim has to be of that."
              .formatted(image.storageClass()));
    }
    if (!PrimeClaim.isBlock(claim)) {
      return new Way.Wait(
          Reason.UNSUPPORTED,
          "An image in a storage class is a device; say volumeMode: Block, or name a DiskImport.");
    }
    if (PrimeClaim.size(claim) < least) {
      return new Way.Wait(
          Reason.INVALID,
          "The claim is too small: the image needs %s.".formatted(ByteSize.of(least)));
    }
    if (lacksPod(image, claim, volumes)) {
      return Way.Wait.of(Reason.WAITING_FOR_CONSUMER);
    }
    var node = status.nodeName();
    return new Way.Copy(
        image.getMetadata().getName(),
        new Quantity(Long.toString(PrimeClaim.size(claim))),
        image.digest(),
        node == null ? PrimeClaim.selectedNode(claim) : node);
  }

  private static Way waitFor(VmImage image, ImageStatus status) {
    var said = Conditions.find(status.conditions(), Condition.READY);
    return said == null || Reason.of(said.reason()).isNormal()
        ? Way.Wait.of(Reason.WAITING_FOR_IMAGE)
        : new Way.Wait(
            Reason.of(said.reason()),
            "VirtletVMImage " + image.getMetadata().getName() + ": " + said.message());
  }

  /** Whether the volume of the prime claim can still be made from what the claim names. */
  boolean hasSnapshot(ClaimSource source, PersistentVolumeClaim prime) {
    var name = prime.getSpec().getDataSource().getName();
    return switch (source) {
      case VmImage image ->
          ImageStatus.of(image).ready() && image.getMetadata().getName().equals(name);
      case DiskImport disk -> originals.has(disk, name);
      case DiskUpload _ -> false;
    };
  }
}
