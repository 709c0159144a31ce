package dev.platter.node;

import dev.platter.node.container.ContainerRuntime;
import dev.platter.plan.Boot;
import dev.platter.plan.NodeFacts;

/**
 * What this machine runs VMs with. Asking is what finds out, so that a command which needs none of
 * it pays nothing.
 */
public interface Machine extends AutoCloseable {
  /** The libvirt that new VMs get, as {@link #hypervisor} takes it. */
  String libvirt();

  /**
   * The socket of the containerd that new VMs get. As with libvirt, a VM stays with the one that it
   * was made with.
   */
  default String containerd() {
    return ContainerRuntime.DEFAULT_SOCKET.toString();
  }

  /**
   * A VM stays with the libvirt that it was made with, whichever is asked for later; empty is
   * Platter's own.
   */
  Hypervisor hypervisor(String libvirt);

  NodeFacts.Accelerator accelerator();

  /** Whether guests are kept from the machine's network. */
  default boolean isolated() {
    return false;
  }

  /** What boots VMs that run container images. */
  default Boot boot() {
    throw BootFiles.missing();
  }

  /** Path of the QEMU program. */
  String emulator();

  @Override
  void close();
}
