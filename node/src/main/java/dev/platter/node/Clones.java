package dev.platter.node;

import dev.platter.image.raw.PinnedFile;
import dev.platter.model.Access;
import dev.platter.model.SecretData;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Disks that are whole copies. While one is made, nobody writes to what it is made from. */
final class Clones {
  private final StateLayout layout;
  private final Images images;
  private final Leases leases;
  private final LocalDisks disks;
  private final Masters masters;
  private final Pools pools;
  private final Progress progress;

  Clones(
      StateLayout layout,
      Images images,
      Leases leases,
      LocalDisks disks,
      Masters masters,
      Pools pools,
      Progress progress) {
    this.layout = layout;
    this.images = images;
    this.leases = leases;
    this.disks = disks;
    this.masters = masters;
    this.pools = pools;
    this.progress = progress;
  }

  void make(Plan plan, Step.CloneDisk clone, SecretData secrets, Pools.Reservation reservation)
      throws IOException {
    if (clone.lease() == null) {
      for (var image : plan.images().entrySet()) {
        if (clone.from().toString().equals(layout.base(image.getValue()).toString())) {
          images.complete(image.getKey(), image.getValue(), secrets.logins(), progress);
        }
      }
      write(clone, null, secrets, reservation);
      return;
    }
    leases.take(plan.key(), clone.lease(), Access.READ_SHARED);
    try (var device = device(plan, clone.from())) {
      var file = clone.from().file();
      if (file != null) {
        disks.check(Path.of(file), clone.from().format());
      }
      write(clone, device, secrets, reservation);
    } finally {
      leases.release(plan.key(), clone.lease(), Access.READ_SHARED);
    }
  }

  /** The device that a clone is made from, held while it is copied. */
  private @Nullable PinnedFile device(Plan plan, PlannedDisk.Link from) throws IOException {
    var path = from.device();
    if (path == null) {
      return null;
    }
    var listed =
        plan.steps().stream()
            .anyMatch(
                step ->
                    step instanceof Step.CheckDevice check
                        && check.path().equals(path)
                        && check.listed());
    return disks.openDevice(path, listed);
  }

  private void write(
      Step.CloneDisk clone,
      @Nullable PinnedFile device,
      SecretData secrets,
      Pools.Reservation reservation)
      throws IOException {
    var file = Path.of(clone.path());
    if (pools.isLimited(file)) {
      pools.reserve(file, masters.sizeOf(clone.from(), clone.size(), false, secrets), reservation);
    }
    NewFile.create(clone.path(), path -> masters.copy(clone, device, path, secrets));
  }
}
