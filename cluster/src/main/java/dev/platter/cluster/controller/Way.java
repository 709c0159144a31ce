package dev.platter.cluster.controller;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.Quantity;
import org.jspecify.annotations.Nullable;

/** How the volume of a claim gets its disk. */
sealed interface Way {
  /**
   * The driver makes it from a snapshot, which shares blocks or whatever the driver does.
   *
   * @param snapshot its name
   * @param size that the volume has to have
   * @param digest of the disk
   * @param node that the volume is to be on; null if it does not matter
   */
  record Copy(String snapshot, Quantity size, @Nullable String digest, @Nullable String node)
      implements Way {}

  /** It begins as an image that the node has or fetches, and can be used by VMs from then on. */
  record Draw(DiskImport disk) implements Way {}

  /** A pod writes it. */
  record Write(DiskSource disk) implements Way {}

  /** Not yet, or not at all. */
  record Wait(Reason reason, String message) implements Way {
    static Wait of(Reason reason) {
      return new Wait(reason, reason.sentence());
    }
  }
}
