package dev.platter.cluster.api;

import io.fabric8.kubernetes.api.model.HasMetadata;

/** What a claim can name in its {@code dataSourceRef} to be filled by us. */
public sealed interface DiskSource extends HasMetadata permits DiskImport, DiskUpload {
  /** What it says of itself; never null. */
  FillStatus said();

  /**
   * Whether claims of a storage class that waits for a pod are filled without one: the volume is
   * then where the pod is that fills it.
   */
  boolean immediate();

  void say(FillStatus status);
}
