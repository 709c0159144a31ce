package dev.platter.model;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What identities of one set have in common; copied into each when it is made.
 *
 * @param image with a sha256 digest, so that it means the same for ever
 * @param firmwareUuid what guests see as their SMBIOS UUID; null leaves it to the pod
 * @param size of the disk; null means the image's
 * @param storageClass of the claims of {@link Type#PERSISTENT_VOLUME}; null means the cluster's
 */
public record IdentitySpec(
    String image,
    @Nullable UUID firmwareUuid,
    UuidPolicy uuidPolicy,
    Type type,
    @Nullable ByteSize size,
    @Nullable String storageClass) {

  /** Where the disk is. */
  public enum Type {
    /** An overlay in a pool of a node. */
    LOCAL("Local"),
    /** A claim. */
    PERSISTENT_VOLUME("PersistentVolume");

    private final String word;

    Type(String word) {
      this.word = word;
    }

    public String word() {
      return word;
    }
  }

  /** Who gets the firmware UUID. */
  public enum UuidPolicy {
    /** Whoever uses an identity of the set, one VM at a time. */
    SHARED("Shared"),
    /** Nobody: each pod gets one that follows from it and from the pod's name. */
    PER_POD("PerPod");

    private final String word;

    UuidPolicy(String word) {
      this.word = word;
    }

    public String word() {
      return word;
    }
  }

  /** The UUID of the VM that a pod is; null if it is left to the pod. */
  public @Nullable UUID uuidOf(String pod) {
    if (firmwareUuid == null) {
      return null;
    }
    return switch (uuidPolicy) {
      case SHARED -> firmwareUuid;
      case PER_POD -> Uuids.version5(firmwareUuid, pod);
    };
  }
}
