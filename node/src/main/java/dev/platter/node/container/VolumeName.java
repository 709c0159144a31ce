package dev.platter.node.container;

import dev.platter.model.Uuids;
import java.util.UUID;

/**
 * Which disk of which VM a volume is for. All names follow from it, so nothing needs looking up.
 */
public record VolumeName(UUID vm, String disk) {
  /**
   * The container's name, and the volume's in requests. The disk's name itself may be one that
   * containerd does not take.
   */
  public String word() {
    return "platter-" + Uuids.version5(vm, "container/" + disk);
  }

  /** For people. */
  @Override
  public String toString() {
    return "disk " + disk + " of VM " + vm;
  }
}
