package dev.platter.node;

import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Why QEMU has paused a guest: disks failed, and it waits for somebody to let it try again.
 *
 * @param failed there may be none, where QEMU does not say which
 */
public record Stall(List<Failed> failed) {
  /**
   * @param target of the disk in the domain, such as {@code sda}
   * @param full whether there was no room for what the guest wrote
   */
  public record Failed(String target, boolean full) {}

  static final Stall UNKNOWN = new Stall(List.of());

  public Stall {
    failed = List.copyOf(failed);
  }

  /**
   * Of a VM with disks on servers it is not known which failed: QEMU waits for a server before it
   * says so, and libvirt waits for QEMU and lets nobody else ask it anything meanwhile.
   */
  static Optional<Stall> of(Hypervisor hypervisor, Plan plan) {
    if (!usesServers(plan)) {
      return hypervisor.stall(plan.uuid());
    }
    return hypervisor.isStalled(plan.uuid()) ? Optional.of(UNKNOWN) : Optional.empty();
  }

  private static boolean usesServers(Plan plan) {
    return plan.disks().stream()
        .flatMap(disk -> disk.chain().stream())
        .anyMatch(link -> link.network() != null);
  }

  public boolean full() {
    return failed.stream().anyMatch(Failed::full);
  }

  /** The files that had no room for what the guest wrote. */
  List<Path> fullFiles(Plan plan) {
    return failed.stream()
        .filter(Failed::full)
        .flatMap(disk -> disk(plan, disk.target()))
        .map(disk -> disk.chain().getFirst().file())
        .flatMap(Stream::ofNullable)
        .map(Path::of)
        .toList();
  }

  /** Whether a server may be what failed; nobody can see from here when it is back. */
  boolean mayBeServer() {
    return failed.isEmpty();
  }

  /** For people: which disks, and what they lie on. */
  public String why(Plan plan) {
    return failed.isEmpty()
        ? "a disk does not work"
        : String.join("; ", failed.stream().map(disk -> why(plan, disk)).toList());
  }

  private static String why(Plan plan, Failed failed) {
    var disk = disk(plan, failed.target()).findFirst();
    if (disk.isEmpty()) {
      return "the disk " + failed.target() + (failed.full() ? " has no room" : " does not work");
    }
    var place = place(plan, disk.get());
    return failed.full()
        ? "the disk %s has no room: %s is full".formatted(disk.get().name(), place)
        : "the disk %s on %s does not work".formatted(disk.get().name(), place);
  }

  private static String place(Plan plan, PlannedDisk disk) {
    var top = disk.chain().getFirst();
    if (top.file() == null) {
      return top.toString();
    }
    var directory = String.valueOf(Path.of(top.file()).getParent());
    return plan.pools().entrySet().stream()
        .filter(pool -> pool.getValue().equals(directory))
        .map(Map.Entry::getKey)
        .findFirst()
        .map(pool -> "the pool %s (%s)".formatted(pool, directory))
        .orElse("the file system of " + top.file());
  }

  private static Stream<PlannedDisk> disk(Plan plan, String target) {
    return plan.disks().stream().filter(disk -> disk.device().equals(target));
  }
}
