package dev.platter.bench;

import dev.platter.node.Hypervisor;
import dev.platter.node.Machine;
import dev.platter.plan.NodeFacts.Accelerator;
import java.nio.file.Path;
import java.util.UUID;

/** A machine that starts no guest, for benchmarks that end when the disks are ready. */
final class IdleMachine implements Machine, Hypervisor {
  @Override
  public String libvirt() {
    return "";
  }

  @Override
  public Hypervisor hypervisor(String libvirt) {
    return this;
  }

  @Override
  public Accelerator accelerator() {
    return Accelerator.TCG;
  }

  @Override
  public String emulator() {
    return "/usr/bin/qemu-system-x86_64";
  }

  @Override
  public void start(String domainXml) {}

  @Override
  public DomainState state(UUID uuid) {
    return DomainState.GONE;
  }

  @Override
  public void shutdown(UUID uuid) {}

  @Override
  public void destroy(UUID uuid) {}

  @Override
  public void readFromFile(UUID uuid, String export, Path base) {}

  @Override
  public void close() {}
}
