package dev.platter.node;

import java.io.IOException;
import java.util.UUID;

/**
 * Puts the process of a VM where it is to be accounted, such as into the cgroups of its pod. It is
 * called while the guest stands still: what a guest has touched before it was moved stays with whom
 * it was charged to.
 */
@FunctionalInterface
public interface Placement {
  /** Where libvirt starts it. */
  Placement NONE = (_, _) -> {};

  /**
   * @param pid the VM's QEMU
   * @throws IOException and the VM does not start
   */
  void place(UUID vm, long pid) throws IOException;
}
