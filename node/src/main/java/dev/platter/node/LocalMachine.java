package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.libvirt.KvmProbe;
import dev.platter.node.libvirt.PrivateLibvirt;
import dev.platter.plan.NodeFacts.Accelerator;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** QEMU and libvirt as they are on this machine. */
final class LocalMachine implements Machine {
  private static final List<Path> DIRECTORIES =
      List.of(Path.of("/usr/bin"), Path.of("/usr/local/bin"), Path.of("/usr/libexec"));

  private final StateLayout layout;
  private final Optional<String> connect;
  private final LibvirtHypervisor hypervisor;

  LocalMachine(StateLayout layout, Optional<String> connect) {
    this.layout = layout;
    this.connect = connect;
    this.hypervisor = new LibvirtHypervisor(this::libvirtUri);
  }

  /** Where libvirt is; Platter's own is started if need be. */
  String libvirtUri() {
    if (connect.isPresent()) {
      return connect.get();
    }
    try {
      return new PrivateLibvirt(layout.libvirtState(), layout.libvirtRun()).ensureRunning();
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "Platter's libvirt does not start: " + e.getMessage(),
          "'platter doctor' checks what this machine lacks; --connect uses another libvirt.",
          e);
    }
  }

  @Override
  public Hypervisor hypervisor() {
    return hypervisor;
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
  public void close() {
    hypervisor.close();
  }
}
