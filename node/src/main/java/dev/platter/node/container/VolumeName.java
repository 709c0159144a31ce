package dev.platter.node.container;

import java.util.UUID;

/**
 * Which disk of which VM a volume is for. It names no container: a VM of another state directory,
 * with the same containerd, may have the same name and hence the same UUID.
 */
public record VolumeName(UUID vm, String disk) {
  /** For people. */
  @Override
  public String toString() {
    return "disk " + disk + " of VM " + vm;
  }
}
