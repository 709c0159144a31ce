package dev.platter.model;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A root disk that outlives the pods which use it, one at a time, and what their VM is known by.
 *
 * @param uid what a cluster knows it by, for ever; null where there is no cluster
 * @param set the name of the set that it was made from, which may be gone; null if it was made by
 *     hand
 */
public record Identity(
    IdentityKey key, @Nullable String uid, @Nullable String set, IdentitySpec spec) {
  private static final UUID IDENTITIES = UUID.fromString("4be1f7a5-5c0e-4a0c-8f64-0f2c5b0c9d37");

  /** What its disk is named by: not that of an identity of the same name that was deleted. */
  public UUID diskId() {
    return Uuids.version5(IDENTITIES, uid == null ? key.toString() : uid);
  }
}
