package dev.platter.node;

import dev.platter.image.Digest;
import dev.platter.image.fill.DiskFill;
import dev.platter.image.fill.Fill;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.image.raw.PinnedFile;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.DiskFormat;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.FillRecord;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The volume of a claim, by the same records and in the same order as {@link ClaimFill}: so a VM
 * that has the claim knows what is there, and is refused while it is not whole. From its opening to
 * its end no VM of this machine gets the volume, and nobody can mount the device.
 */
final class ClaimTarget implements FillTarget {
  private final Path path;
  private final Step.CheckClaim disk;
  private final PinnedFile pinned;
  private final List<Closeable> held;
  private final FillRecords records;
  private final long size;
  private final boolean replace;
  private final boolean made;

  /** Whether a device was read to its end, and had no byte but zeros. */
  private boolean blank;

  private String source = "";
  private String refill = "";

  private ClaimTarget(
      Path path,
      Step.CheckClaim disk,
      PinnedFile pinned,
      List<Closeable> held,
      FillRecords records,
      long size,
      boolean replace,
      boolean made) {
    this.path = path;
    this.disk = disk;
    this.pinned = pinned;
    this.held = held;
    this.records = records;
    this.size = size;
    this.replace = replace;
    this.made = made;
  }

  static ClaimTarget ofVolume(StateLayout layout, Path root, long size, boolean replace)
      throws IOException {
    var disk = new Step.CheckDiskImg(root.toString(), null);
    refuseArchive(new FillRecords(new LocalDeviceRecords(layout)).find("", disk), root);
    return open(layout, root, disk, "file:" + StateLayout.diskImg(root), size, replace, false);
  }

  /** Before there is a disk beside its files. */
  private static void refuseArchive(Optional<FillRecord> found, Path root) {
    if (found.filter(ArchiveTarget::isArchive).isPresent()) {
      throw PlatterException.of(
          Code.CONFLICT,
          root + " holds the files of an archive (" + found.get().image() + ")",
          "A disk goes to an empty volume. Name another.");
    }
  }

  /**
   * @param made as in {@link FillTarget#of}
   */
  static ClaimTarget ofDevice(StateLayout layout, Path device, boolean replace, boolean made)
      throws IOException {
    var disk = new Step.CheckDevice(device.toString(), false);
    return open(layout, device, disk, "device:" + device, 0, replace, made);
  }

  private static ClaimTarget open(
      StateLayout layout,
      Path path,
      Step.CheckClaim disk,
      String leased,
      long size,
      boolean replace,
      boolean made)
      throws IOException {
    var held = new ArrayList<Closeable>();
    try {
      var pinned =
          switch (disk) {
            case Step.CheckDevice device ->
                new LocalDisks(RawDevices.DEFAULT, Progress.NONE).openDevice(device.path(), false);
            case Step.CheckDiskImg img -> DiskImg.hold(Path.of(img.root()));
          };
      held.add(pinned);
      var leases = new Leases(layout, vm -> Files.isRegularFile(layout.plan(layout.vm(vm))));
      held.add(leases.fill(new SourceName(leased, List.of()))::close);
      if (pinned.isBlockDevice()) {
        held.add(PinnedFile.claim(pinned.path()).orElseThrow(() -> Leases.filled(path.toString())));
      }
      var records = new FillRecords(new LocalDeviceRecords(layout));
      return new ClaimTarget(path, disk, pinned, held, records, size, replace, made);
    } catch (IOException | RuntimeException e) {
      closeAll(held);
      throw e;
    }
  }

  @Override
  public Optional<FillRecord> held(String wanted, Optional<Digest> digest) throws IOException {
    var found = found();
    if (found.isEmpty() || !found.get().complete() || replace) {
      return Optional.empty();
    }
    var record = found.get();
    var same = digest.map(Digest::toString).orElse(record.digest()).equals(record.digest());
    if (record.image().equals(wanted) && same) {
      return found;
    }
    throw taken(record);
  }

  private Optional<FillRecord> found() throws IOException {
    var found = record();
    if (found.isPresent() || made) {
      return found;
    }
    if (!SparseFile.isBlank(pinned.path(), _ -> {})) {
      throw PlatterException.of(
          Code.REFUSED,
          path + " holds bytes that Platter has not written there",
          "They are left alone. Empty it yourself if they are of no use.");
    }
    blank = pinned.isBlockDevice();
    return found;
  }

  private Optional<FillRecord> record() throws IOException {
    return records.find("", disk).filter(record -> record.disk().equals(which()));
  }

  private PlatterException taken(FillRecord record) {
    return PlatterException.of(
        Code.CONFLICT,
        "%s holds %s (%s), and what was written to it since"
            .formatted(path, record.image(), record.digest()),
        "To lose that, say --replace.");
  }

  private String which() {
    try {
      return ClaimFill.which(pinned, room());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** How large a disk can be; -1 if it is as large as what comes. */
  private long room() throws IOException {
    if (pinned.isBlockDevice()) {
      return new LocalDisks(RawDevices.DEFAULT, Progress.NONE)
          .virtualSize(pinned.path(), DiskFormat.RAW);
    }
    return size == 0 ? -1 : DiskImg.sizeFor(size);
  }

  @Override
  public void begin(String from) throws IOException {
    // A device was ours alone since it was looked at; to a file anybody can have written.
    var found = pinned.isBlockDevice() ? record() : found();
    if (!replace && found.isPresent() && found.get().complete()) {
      throw taken(found.get());
    }
    source = from;
    refill = found.map(FillRecord::refill).orElse("");
    records.put("", disk, new FillRecord(from, "", refill, which(), false));
  }

  @Override
  public Fill open(@Nullable Format format, Optional<Digest> expected, LongConsumer progress)
      throws IOException {
    var target = blank ? RawTarget.device(pinned.path(), true) : ClaimFill.target(pinned);
    blank = false; // A second try finds what the first has written.
    return new DiskFill(target, room(), format, expected.orElse(null), progress);
  }

  @Override
  public void complete(Filled filled) throws IOException {
    var record = new FillRecord(source, filled.digest().toString(), refill, which(), true);
    records.put("", disk, record);
  }

  @Override
  public void close() throws IOException {
    closeAll(held);
  }

  private static void closeAll(List<Closeable> held) throws IOException {
    for (var each : held.reversed()) {
      each.close();
    }
  }
}
