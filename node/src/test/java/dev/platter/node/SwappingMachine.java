package dev.platter.node;

import dev.platter.plan.NodeFacts;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** A machine on which somebody does something just before QEMU is started. */
record SwappingMachine(Machine machine, Runnable swap) implements Machine {
  @Override
  public String libvirt() {
    return machine.libvirt();
  }

  @Override
  public Hypervisor hypervisor(String libvirt) {
    return new Swapping(machine.hypervisor(libvirt), swap);
  }

  @Override
  public NodeFacts.Accelerator accelerator() {
    return machine.accelerator();
  }

  @Override
  public String emulator() {
    return machine.emulator();
  }

  @Override
  public void close() {
    machine.close();
  }

  private record Swapping(Hypervisor real, Runnable swap) implements Hypervisor {
    @Override
    public void start(String domainXml, List<ServedBase> served, List<OpenFile> opened)
        throws IOException {
      swap.run();
      real.start(domainXml, served, opened);
    }

    @Override
    public void defineSecret(UUID uuid, String type, String usage, byte[] value) {
      real.defineSecret(uuid, type, usage, value);
    }

    @Override
    public void undefineSecret(UUID uuid) {
      real.undefineSecret(uuid);
    }

    @Override
    public void ensurePool(String name, String directory) {
      real.ensurePool(name, directory);
    }

    @Override
    public void poolChanged(String name, String directory) {
      real.poolChanged(name, directory);
    }

    @Override
    public LiveDisks disks(UUID uuid) {
      return real.disks(uuid);
    }

    @Override
    public LiveMigration migration() {
      return real.migration();
    }

    @Override
    public DomainState state(UUID uuid) {
      return real.state(uuid);
    }

    @Override
    public boolean isStalled(UUID uuid) {
      return real.isStalled(uuid);
    }

    @Override
    public Optional<Stall> stall(UUID uuid) {
      return real.stall(uuid);
    }

    @Override
    public boolean resumeAfterError(UUID uuid) {
      return real.resumeAfterError(uuid);
    }

    @Override
    public void shutdown(UUID uuid) {
      real.shutdown(uuid);
    }

    @Override
    public void destroy(UUID uuid) {
      real.destroy(uuid);
    }

    @Override
    public void readFromFile(UUID uuid, ServedBase base) {
      real.readFromFile(uuid, base);
    }
  }
}
