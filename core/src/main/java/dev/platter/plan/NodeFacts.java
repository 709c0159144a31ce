package dev.platter.plan;

import dev.platter.model.IdentityKey;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
 * @param isolated whether guests are kept from the machine's network, since they are not its
 *     owner's: QEMU's user-mode network would lead them to the machine's own loopback. They have
 *     the network that somebody connects to {@link StateLayout#networkSocket}
 * @param identities where the disks of identities are, or will be
 * @param containers references to container images that VMs run
 * @param boot what boots such VMs; null where nothing does
 */
public record NodeFacts(
    StateLayout layout,
    Accelerator accelerator,
    String libvirt,
    String containerd,
    String emulator,
    Map<String, String> digests,
    Map<String, String> pools,
    boolean isolated,
    Map<IdentityKey, IdentityPlace> identities,
    Map<String, ContainerImage> containers,
    @Nullable Boot boot) {

  /** Of a machine that runs no container images. */
  public NodeFacts(
      StateLayout layout,
      Accelerator accelerator,
      String libvirt,
      String containerd,
      String emulator,
      Map<String, String> digests,
      Map<String, String> pools,
      boolean isolated,
      Map<IdentityKey, IdentityPlace> identities) {
    this(
        layout,
        accelerator,
        libvirt,
        containerd,
        emulator,
        digests,
        pools,
        isolated,
        identities,
        Map.of(),
        null);
  }

  /** Of a machine whose guests are its owner's. */
  public NodeFacts(
      StateLayout layout,
      Accelerator accelerator,
      String libvirt,
      String containerd,
      String emulator,
      Map<String, String> digests,
      Map<String, String> pools) {
    this(layout, accelerator, libvirt, containerd, emulator, digests, pools, false, Map.of());
  }

  /**
   * Where the disk of an identity is.
   *
   * @param digest of the image whose base it lies on; null if it is whole, and lies on nothing
   * @param pool whose directory it is in
   */
  public record IdentityPlace(@Nullable String digest, String pool, String file) {}

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
