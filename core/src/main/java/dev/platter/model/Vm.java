package dev.platter.model;

import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A virtual machine as its user wants it, whatever words it was written in.
 *
 * @param uuid the domain's UUID and what the guest sees as its SMBIOS UUID
 * @param disks in the order in which they were written; the boot disk is at position 0 of its bus
 * @param cpu null leaves the processor to the machine
 */
public record Vm(
    String namespace,
    String name,
    UUID uuid,
    int cpus,
    ByteSize memory,
    List<Disk> disks,
    @Nullable CloudInit cloudInit,
    List<PortForward> publish,
    Inside inside,
    @Nullable CpuModel cpu) {
  /** The name of the cloud-init disk, which no other disk can have. */
  public static final String SEED_DISK = "cloud-init";

  public Vm {
    disks = List.copyOf(disks);
    publish = List.copyOf(publish);
  }

  /** The first disk at position 0 of its bus, or simply the first. */
  public Disk bootDisk() {
    return bootDisk(disks);
  }

  static Disk bootDisk(List<Disk> disks) {
    return disks.stream()
        .filter(disk -> disk.target().position() == 0)
        .findFirst()
        .orElseGet(disks::getFirst);
  }

  /** Where the cloud-init disk goes: behind the last disk of the boot disk's bus. */
  public Target seedTarget() {
    var bus = bootDisk().target().bus();
    var last =
        disks.stream()
            .filter(disk -> disk.target().bus() == bus)
            .mapToInt(disk -> disk.target().position())
            .max()
            .orElse(-1);
    return new Target(bus, last + 1);
  }

  public Vm withPublish(List<PortForward> ports) {
    return new Vm(namespace, name, uuid, cpus, memory, disks, cloudInit, ports, inside, cpu);
  }

  public Vm withDisks(List<Disk> others) {
    return new Vm(namespace, name, uuid, cpus, memory, others, cloudInit, publish, inside, cpu);
  }
}
