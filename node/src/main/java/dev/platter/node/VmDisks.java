package dev.platter.node;

import dev.platter.dialect.Objects;
import dev.platter.model.ByteSize;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.Disk;
import dev.platter.model.Inside;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import dev.platter.node.image.Images;
import dev.platter.plan.DiskChange;
import dev.platter.plan.DiskChanges;
import dev.platter.plan.Planned;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;

/** The disks of a VM, changed while it runs. */
public final class VmDisks {
  private static final long SECTOR = 512;

  private final StateLayout layout;
  private final Executor executor;
  private final Planning planning;
  private final Images images;
  private final Progress progress;
  private final VmKey key;
  private final Watching watching;

  /** Sees to it that somebody looks after a VM, whose disks have changed. */
  interface Watching {
    void goOn() throws IOException;
  }

  VmDisks(
      StateLayout layout,
      Executor executor,
      Planning planning,
      Images images,
      Progress progress,
      VmKey key,
      Watching watching) {
    this.layout = layout;
    this.executor = executor;
    this.planning = planning;
    this.images = images;
    this.progress = progress;
    this.key = key;
    this.watching = watching;
  }

  /**
   * @param size what the guest sees; empty unless the VM runs
   */
  public record Listed(PlannedDisk disk, OptionalLong size) {
    /** The names of its snapshots, the oldest first. */
    public List<String> snapshots() {
      return disk.chain().reversed().stream()
          .map(PlannedDisk.Link::snapshot)
          .filter(java.util.Objects::nonNull)
          .toList();
    }
  }

  public List<Listed> list() throws IOException {
    return executor.disks(key);
  }

  /** A disk that has the size already stays as it is. */
  public void grow(String disk, ByteSize size) throws IOException {
    var wanted = Math.ceilDiv(size.bytes(), SECTOR) * SECTOR;
    change(
        SecretData.NONE,
        (changes, live) -> {
          var now = live.size(changes.disk(disk).device());
          if (wanted < now) {
            throw PlatterException.of(
                Code.INVALID,
                "the disk %s has %s, and a disk cannot be made smaller than it is"
                    .formatted(disk, ByteSize.of(now)),
                "Give a size of more than " + ByteSize.of(now) + ".");
          }
          return changes.grow(disk, wanted);
        });
  }

  /** From now on writes go to a new overlay; below it is the disk as it is at this moment. */
  public void snapshot(String disk, String name) throws IOException {
    change(
        SecretData.NONE,
        (changes, live) -> changes.snapshot(disk, name, live.size(changes.disk(disk).device())));
  }

  /** Merges what was written since the snapshot into the disk below. */
  public void removeSnapshot(String disk, String name) throws IOException {
    change(SecretData.NONE, (changes, _) -> changes.removeSnapshot(disk, name));
  }

  /**
   * Gives a running VM one more disk. An image must be here in full before: a disk that is read
   * through the daemon is put below QEMU before its guest runs.
   *
   * @param disk as the dialect reads it for this VM
   */
  public void attach(Disk disk, Objects given) throws IOException {
    if (disk.source() instanceof ContainerImageSource) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "a running VM has its container image already",
          "Make another VM with it.");
    }
    if (disk.source() instanceof ContainerSource container) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "a volume that a container makes (%s) cannot be attached to a running VM"
              .formatted(container.image()),
          "Put the disk into the VM's description and make the VM with it.");
    }
    var vm = VmRecord.find(layout, key).orElseThrow(() -> Executor.noSuchVm(key)).plan();
    var planned =
        planning.plan(
            new Vm(
                vm.namespace(),
                vm.name(),
                vm.uuid(),
                1,
                ByteSize.mebibytes(1),
                List.of(disk),
                null,
                List.of(),
                Inside.NOTHING,
                null),
            given);
    for (var image : planned.plan().images().entrySet()) {
      images.complete(image.getKey(), image.getValue(), given.secrets().logins(), progress);
    }
    attach(planned, given.secrets());
  }

  /**
   * @param alone the plan of a VM that has this disk and no other
   */
  private void attach(Planned alone, SecretData secrets) throws IOException {
    change(
        secrets,
        (changes, live) -> {
          var change = changes.attach(alone);
          if (live.has(change.effect())) {
            throw PlatterException.of(
                Code.CONFLICT,
                "the VM has a disk " + change.effect().device() + " that Platter did not attach",
                "Give the new disk another target.device.");
          }
          return change;
        });
  }

  /** Waits for the guest to let go. A local file that was made for the VM is deleted. */
  public void detach(String disk) throws IOException {
    change(SecretData.NONE, (changes, _) -> changes.detach(disk));
  }

  private interface Maker {
    DiskChange make(DiskChanges changes, LiveDisks live);
  }

  private void change(SecretData secrets, Maker maker) throws IOException {
    executor.change(
        key,
        new Given(secrets),
        (record, live) ->
            maker.make(new DiskChanges(layout, record.plan(), record.domainXml(layout)), live));
    watching.goOn();
  }
}
