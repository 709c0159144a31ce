package dev.platter.plan;

import java.util.Map;

/**
 * What the planner has to know of the machine; gathered before planning, so that planning is pure.
 *
 * @param layout where things lie
 * @param accelerator what runs guests
 * @param libvirt the libvirt to use; empty means Platter's own
 * @param containerd the socket of the containerd that runs containers which make volumes
 * @param emulator path of the QEMU program
 * @param digests image references to the digests that they were resolved to
 * @param pools usage types to the directories of their pools; the default one is among them
 */
public record NodeFacts(
    StateLayout layout,
    Accelerator accelerator,
    String libvirt,
    String containerd,
    String emulator,
    Map<String, String> digests,
    Map<String, String> pools) {

  /** How QEMU runs the guest's instructions. */
  public enum Accelerator {
    KVM("kvm"),
    TCG("qemu");

    private final String domainType;

    Accelerator(String domainType) {
      this.domainType = domainType;
    }

    public String domainType() {
      return domainType;
    }
  }
}
