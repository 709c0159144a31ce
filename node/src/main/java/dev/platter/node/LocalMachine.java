package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.container.ContainerRuntime;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.libvirt.KvmProbe;
import dev.platter.node.libvirt.PrivateLibvirt;
import dev.platter.plan.Boot;
import dev.platter.plan.NodeFacts.Accelerator;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** QEMU and libvirt as they are on this machine. */
final class LocalMachine implements Machine {
  private static final List<Path> DIRECTORIES =
      List.of(Path.of("/usr/bin"), Path.of("/usr/local/bin"), Path.of("/usr/libexec"));
  private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

  private final StateLayout layout;
  private final Optional<String> connect;
  private final Path containerd;
  private final Placement placement;
  private final Map<String, LibvirtHypervisor> hypervisors = new HashMap<>();

  LocalMachine(StateLayout layout, Optional<String> connect) {
    this(layout, connect, ContainerRuntime.DEFAULT_SOCKET, Placement.NONE);
  }

  LocalMachine(StateLayout layout, Optional<String> connect, Path containerd, Placement placement) {
    this.layout = layout;
    this.connect = connect;
    this.containerd = containerd;
    this.placement = placement;
  }

  @Override
  public String libvirt() {
    return connect.orElse("");
  }

  @Override
  public String containerd() {
    return containerd.toString();
  }

  @Override
  public synchronized Hypervisor hypervisor(String libvirt) {
    return hypervisors.computeIfAbsent(
        libvirt, _ -> new LibvirtHypervisor(() -> uri(libvirt), layout, placement));
  }

  /** Where libvirt is; Platter's own is started if need be. */
  String uri(String libvirt) {
    if (!libvirt.isEmpty()) {
      return libvirt;
    }
    try {
      forgetEarlierBoots();
      return new PrivateLibvirt(layout.libvirtState(), layout.libvirtRun()).ensureRunning();
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "Platter's libvirt does not start: " + e.getMessage(),
          "'platter doctor' checks what this machine lacks; --connect uses another libvirt.",
          e);
    }
  }

  /**
   * The run directory may lie on a disk, and libvirt believes the process ids that it finds there:
   * after a reboot they are somebody else's.
   */
  private void forgetEarlierBoots() throws IOException {
    try (var _ = FileMutex.take(layout.bootLock(), "the run directory", Duration.ofMinutes(1))) {
      var boot = Files.readString(BOOT_ID);
      var stamp = layout.bootStamp();
      if (Files.exists(stamp) && Files.readString(stamp).equals(boot)) {
        return;
      }
      RunDirectory.ensure(layout.run());
      Durable.deleteTree(layout.libvirtRun());
      Durable.publish(stamp, boot);
    }
  }

  @Override
  public Accelerator accelerator() {
    try {
      var kvm = new KvmProbe(Path.of(emulator()), layout.accelerator()).works();
      return kvm ? Accelerator.KVM : Accelerator.TCG;
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "cannot find out whether KVM works: " + e.getMessage(), "", e);
    }
  }

  /** VMs that are accounted to somebody else are somebody else's. */
  @Override
  public boolean isolated() {
    return !placement.equals(Placement.NONE);
  }

  @Override
  public Boot boot() {
    return BootFiles.find();
  }

  @Override
  public String emulator() {
    return DIRECTORIES.stream()
        .map(directory -> directory.resolve("qemu-system-x86_64"))
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.UNAVAILABLE,
                    "QEMU is not installed (no qemu-system-x86_64)",
                    "On Debian: apt-get install qemu-system-x86."))
        .toString();
  }

  @Override
  public synchronized void close() {
    hypervisors.values().forEach(LibvirtHypervisor::close);
    hypervisors.clear();
  }
}
