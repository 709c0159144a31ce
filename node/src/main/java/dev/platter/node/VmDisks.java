package dev.platter.node;

import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.plan.DiskChange;
import dev.platter.plan.DiskChanges;
import dev.platter.plan.Planned;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;

/** The disks of a VM, changed while it runs. */
public final class VmDisks {
  private static final long SECTOR = 512;

  private final StateLayout layout;
  private final Executor executor;
  private final VmKey key;

  VmDisks(StateLayout layout, Executor executor, VmKey key) {
    this.layout = layout;
    this.executor = executor;
    this.key = key;
  }

  /**
   * @param size what the guest sees; empty unless the VM runs
   */
  public record Listed(PlannedDisk disk, OptionalLong size) {
    /** The names of its snapshots, the oldest first. */
    public List<String> snapshots() {
      return disk.chain().reversed().stream()
          .map(PlannedDisk.Link::snapshot)
          .filter(Objects::nonNull)
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
   * @param alone the plan of a VM that has this disk and no other
   */
  void attach(Planned alone, SecretData secrets) throws IOException {
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
  }
}
