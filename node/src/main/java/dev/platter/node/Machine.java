package dev.platter.node;

import dev.platter.plan.NodeFacts;

/**
 * What this machine runs VMs with. Asking is what finds out, so that a command which needs none of
 * it pays nothing.
 */
public interface Machine extends AutoCloseable {
  Hypervisor hypervisor();

  NodeFacts.Accelerator accelerator();

  /** Path of the QEMU program. */
  String emulator();

  @Override
  void close();
}
