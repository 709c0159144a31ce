package dev.platter.cluster.controller;

import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import dev.platter.cluster.api.VmImage;
import org.jspecify.annotations.Nullable;

/** Who needs which image in which storage class. */
final class ImageUse {
  private final Storage storage;

  ImageUse(Storage storage) {
    this.storage = storage;
  }

  /** The class that it names; null if that is left to the cluster. */
  static @Nullable String wanted(VmIdentity identity) {
    var name = identity.getSpec().path("storageClassName").asText();
    return name.isEmpty() ? null : name;
  }

  static String image(VmIdentity identity) {
    return VmIdentitySet.withoutRuntime(identity.getSpec().path("image").asText());
  }

  /**
   * By claims that name it, by whoever made it, or by an identity; also by one that is being
   * deleted: its claim may still be in the making.
   */
  boolean isUsed(VmImage image) {
    return !image.madeByUs()
        || !ImageStatus.of(image).claims().isEmpty()
        || isUsedByIdentities(image);
  }

  private boolean isUsedByIdentities(VmImage image) {
    return storage.identities(image.getMetadata().getNamespace()).stream()
        .filter(identity -> !identity.local())
        .filter(identity -> sameDigest(image(identity), image.image()))
        .anyMatch(identity -> image.storageClass().equals(className(identity)));
  }

  private static boolean sameDigest(String one, String other) {
    return one.substring(one.lastIndexOf('@')).equals(other.substring(other.lastIndexOf('@')));
  }

  /** What its claim says, if there is one: the cluster may have another default by now. */
  private @Nullable String className(VmIdentity identity) {
    var wanted = wanted(identity);
    if (wanted != null) {
      return wanted;
    }
    var meta = identity.getMetadata();
    var claim = storage.claim(meta.getNamespace() + "/" + VmIdentity.claimName(meta.getName()));
    return claim != null && claim.getMetadata().getLabels().containsKey(Names.IMAGE)
        ? claim.getSpec().getStorageClassName()
        : storage.volumeClass(null).map(Storage.VolumeClass::name).orElse(null);
  }
}
