package dev.platter.bench;

import dev.platter.node.Hypervisor;
import dev.platter.node.LiveDisks;
import dev.platter.node.LiveMigration;
import dev.platter.node.Machine;
import dev.platter.node.OpenFile;
import dev.platter.node.ServedBase;
import dev.platter.node.Stall;
import dev.platter.plan.NodeFacts.Accelerator;
import java.util.List;
import java.util.Optional;
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
  public void start(String domainXml, List<ServedBase> served, List<OpenFile> opened) {}

  @Override
  public void defineSecret(UUID uuid, String type, String usage, byte[] value) {}

  @Override
  public void undefineSecret(UUID uuid) {}

  @Override
  public void ensurePool(String name, String directory) {}

  @Override
  public void poolChanged(String name, String directory) {}

  @Override
  public DomainState state(UUID uuid) {
    return DomainState.GONE;
  }

  @Override
  public boolean isStalled(UUID uuid) {
    return false;
  }

  @Override
  public Optional<Stall> stall(UUID uuid) {
    return Optional.empty();
  }

  @Override
  public boolean resumeAfterError(UUID uuid) {
    return false;
  }

  @Override
  public void shutdown(UUID uuid) {}

  @Override
  public void destroy(UUID uuid) {}

  @Override
  public void readFromFile(UUID uuid, ServedBase base) {}

  @Override
  public LiveDisks disks(UUID uuid) {
    throw new IllegalStateException("no guest runs here");
  }

  @Override
  public LiveMigration migration() {
    throw new IllegalStateException("no guest runs here");
  }

  @Override
  public void close() {}
}
