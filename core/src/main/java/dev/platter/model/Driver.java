package dev.platter.model;

/** Who opens a claim's storage. */
public enum Driver {
  /** Inferred from the claim's volume. */
  AUTO,
  /** QEMU's own network driver, straight to the storage. */
  QEMU,
  /** The kubelet mounts or maps the volume. */
  KUBELET
}
