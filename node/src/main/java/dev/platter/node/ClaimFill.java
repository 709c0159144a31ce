package dev.platter.node;

import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.PinnedFile;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseCopy;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.ByteSize;
import dev.platter.model.Claim;
import dev.platter.model.DiskFormat;
import dev.platter.model.Fill;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.image.Images;
import dev.platter.plan.FillRecord;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.util.Optional;

/**
 * Writes images to claims. Whoever does so has the lease to write to the claim alone.
 *
 * <p>The order is what makes it safe to be killed anywhere: a record says that the image is being
 * written, then the bytes are written and synced, then the record says that it is complete. A disk
 * without a record is written to only if all of it is zero; one whose record is not complete has
 * never been used, and is written again from the start; one that is complete is written again only
 * if the claim has a new word for it.
 *
 * <p>A record counts for the name of an image: that a tag has moved on is no reason to touch, or to
 * refuse, the disk of a VM that was made when it had not.
 */
final class ClaimFill {
  private final StateLayout layout;
  private final Images images;
  private final LocalDisks disks;
  private final FillRecords records;
  private final Progress progress;

  ClaimFill(
      StateLayout layout,
      Images images,
      LocalDisks disks,
      DeviceRecords devices,
      Progress progress) {
    this.layout = layout;
    this.images = images;
    this.disks = disks;
    this.records = new FillRecords(devices);
    this.progress = progress;
  }

  /** The digest of the image that a claim holds already, so that nobody is asked for it. */
  Optional<String> digest(Fill fill, Step.CheckClaim disk) throws IOException {
    return records
        .find(fill.claim(), disk)
        .filter(record -> record.complete() && record.image().equals(fill.image()))
        .filter(record -> !wantsRefill(fill.refill(), record))
        .map(FillRecord::digest);
  }

  /** Refuses a disk that a copy left half done, unless the plan is going to do it again. */
  void refuseHalf(Plan plan, Step.CheckClaim disk) throws IOException {
    var filled =
        plan.steps().stream()
            .anyMatch(step -> step instanceof Step.FillClaim fill && fill.disk().equals(disk));
    if (!filled) {
      var half = records.find("", disk).filter(record -> !record.complete());
      if (half.isPresent()) {
        throw half.get().half(disk.opens());
      }
    }
  }

  void run(Step.FillClaim step, ImageLogins logins) throws IOException {
    try (var disk = open(step.disk())) {
      var found = records.find(step.claim(), step.disk());
      if (found.isEmpty() || !holds(step, found.get())) {
        fill(step, disk.file(), found, logins);
      }
    } catch (ClosedByInterruptException e) {
      throw Cancellation.cancelled();
    }
  }

  private OpenFile open(Step.CheckClaim disk) throws IOException {
    return switch (disk) {
      case Step.CheckDevice device -> disks.expect(device);
      case Step.CheckDiskImg img -> DiskImg.expect(img);
    };
  }

  private static boolean wantsRefill(String word, FillRecord record) {
    return !word.isEmpty() && !record.followed(word);
  }

  /** Whether the claim has what the step is to bring there. */
  private static boolean holds(Step.FillClaim step, FillRecord record) {
    if (!record.complete() || wantsRefill(step.refill(), record)) {
      return false;
    }
    if (record.image().equals(step.image()) || record.digest().equals(step.digest())) {
      return true;
    }
    throw PlatterException.of(
        Code.REFUSED,
        "the claim %s holds the image %s (%s), and what was written to it since; the VM names %s (%s)"
            .formatted(step.claim(), record.image(), record.digest(), step.image(), step.digest()),
        "Name the image that it holds, or another claim. To lose what is on it, give the claim the"
            + " annotation %s: %s.".formatted(Claim.REFILL, step.digest()));
  }

  private void fill(
      Step.FillClaim step, PinnedFile disk, Optional<FillRecord> found, ImageLogins logins)
      throws IOException {
    images.ensure(step.image(), step.digest(), logins, progress);
    var base = layout.base(step.digest());
    var size = Files.size(base);
    var room = disks.virtualSize(disk.path(), DiskFormat.RAW);
    if (room < size) {
      throw PlatterException.of(
          Code.INVALID,
          "the image %s has %s, which does not fit on the claim %s, whose disk has %s"
              .formatted(step.image(), ByteSize.of(size), step.claim(), ByteSize.of(room)),
          "Make the claim larger, or use another.");
    }
    var which = which(disk, room);
    if (found.filter(record -> record.disk().equals(which)).isEmpty()) {
      refuseForeign(step, disk, room);
    }
    images.complete(step.image(), step.digest(), logins, progress);
    told(Images.BytesDone.FILL, 0, size); // the last moment at which nothing is lost
    var words = found.map(known -> known.refillWith(step.refill())).orElse(step.refill());
    var record = new FillRecord(step.image(), step.digest(), words, which, false);
    records.put(step.claim(), step.disk(), record);
    try (var target = target(disk)) {
      SparseCopy.copy(base, target, room, done -> told(Images.BytesDone.FILL, done, size));
    } catch (IOException e) {
      if (NativeFile.isNoSpace(e)) {
        throw full(step, e);
      }
      throw e;
    }
    records.put(step.claim(), step.disk(), record.completed());
  }

  static String which(PinnedFile disk, long room) throws IOException {
    return disk.isBlockDevice()
        ? room + " bytes"
        : "inode " + Files.getAttribute(disk.path(), "unix:ino");
  }

  private void refuseForeign(Step.FillClaim step, PinnedFile disk, long room) throws IOException {
    if (!SparseFile.isBlank(disk.path(), done -> told(Images.BytesDone.LOOK, done, room))) {
      throw PlatterException.of(
          Code.REFUSED,
          "the claim %s holds bytes that Platter has not written there".formatted(step.claim()),
          "They are left alone. Use the claim without an image (source: {pvc: %s}), or an empty one."
              .formatted(step.claim().substring(step.claim().indexOf('/') + 1)));
    }
  }

  private void told(String what, long done, long total) {
    Cancellation.check();
    progress.bytes(what, done, total);
  }

  static RawTarget target(PinnedFile disk) throws IOException {
    return disk.isBlockDevice() ? RawTarget.device(disk.path()) : RawTarget.emptied(disk.path());
  }

  private static PlatterException full(Step.FillClaim step, IOException cause) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "the file system of the claim %s is full; the image %s does not fit"
            .formatted(step.claim(), step.image()),
        "Make room on it, or use another claim.",
        cause);
  }
}
