package dev.platter.node;

import dev.platter.image.fill.Filled;
import dev.platter.image.raw.PinnedFile;
import dev.platter.image.raw.RawTarget;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.DiskFormat;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.FillRecord;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The volume of a claim, by the same records and in the same order as {@link ClaimFill}: so a VM
 * that has the claim knows what is there, and is refused while it is not whole.
 */
final class ClaimTarget implements FillTarget {
  private final Path path;
  private final Step.CheckClaim disk;
  private final PinnedFile pinned;
  private final FileMutex mutex;
  private final FillRecords records;
  private final long size;
  private final boolean replace;
  private String source = "";

  private ClaimTarget(
      Path path,
      Step.CheckClaim disk,
      PinnedFile pinned,
      FileMutex mutex,
      FillRecords records,
      long size,
      boolean replace) {
    this.path = path;
    this.disk = disk;
    this.pinned = pinned;
    this.mutex = mutex;
    this.records = records;
    this.size = size;
    this.replace = replace;
  }

  static ClaimTarget ofVolume(StateLayout layout, Path root, long size, boolean replace)
      throws IOException {
    var disk = new Step.CheckDiskImg(root.toString(), null);
    return open(layout, root, disk, "file:" + StateLayout.diskImg(root), size, replace);
  }

  static ClaimTarget ofDevice(StateLayout layout, Path device, boolean replace) throws IOException {
    var disk = new Step.CheckDevice(device.toString(), false);
    return open(layout, device, disk, "device:" + device, 0, replace);
  }

  private static ClaimTarget open(
      StateLayout layout,
      Path path,
      Step.CheckClaim disk,
      String leased,
      long size,
      boolean replace)
      throws IOException {
    var mutex =
        FileMutex.tryTake(layout.claimLock(LocalDeviceRecords.hash(path.toString())))
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.CONFLICT,
                        "another process fills " + path,
                        "Wait until it is done, or end it."));
    try {
      var pinned =
          switch (disk) {
            case Step.CheckDevice device ->
                new LocalDisks(RawDevices.DEFAULT, Progress.NONE).openDevice(device.path(), false);
            case Step.CheckDiskImg img -> DiskImg.hold(Path.of(img.root()));
          };
      try {
        new Leases(layout, vm -> Files.isRegularFile(layout.plan(layout.vm(vm))))
            .refuseUsed(new SourceName(leased, List.of()));
        return new ClaimTarget(
            path,
            disk,
            pinned,
            mutex,
            new FillRecords(new LocalDeviceRecords(layout)),
            size,
            replace);
      } catch (IOException | RuntimeException e) {
        pinned.close();
        throw e;
      }
    } catch (IOException | RuntimeException e) {
      mutex.close();
      throw e;
    }
  }

  @Override
  public Optional<FillRecord> held(String wanted) throws IOException {
    var found = records.find("", disk).filter(record -> record.disk().equals(which()));
    if (found.isEmpty()) {
      if (!SparseFile.isBlank(pinned.path(), _ -> {})) {
        throw PlatterException.of(
            Code.REFUSED,
            path + " holds bytes that Platter has not written there",
            "They are left alone. Empty it yourself if they are of no use.");
      }
      return found;
    }
    var record = found.get();
    if (!record.complete() || replace) {
      return Optional.empty();
    }
    if (record.image().equals(wanted)) {
      return found;
    }
    throw PlatterException.of(
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

  @Override
  public long room() throws IOException {
    if (pinned.isBlockDevice()) {
      return new LocalDisks(RawDevices.DEFAULT, Progress.NONE)
          .virtualSize(pinned.path(), DiskFormat.RAW);
    }
    return size == 0 ? -1 : DiskImg.sizeFor(size);
  }

  @Override
  public void begin(String from) throws IOException {
    source = from;
    records.put("", disk, new FillRecord(from, "", "", which(), false));
  }

  @Override
  public RawTarget open() throws IOException {
    return ClaimFill.target(pinned);
  }

  @Override
  public void complete(Filled filled) throws IOException {
    var record = new FillRecord(source, filled.digest().toString(), "", which(), true);
    records.put("", disk, record);
  }

  @Override
  public void close() throws IOException {
    try {
      pinned.close();
    } finally {
      mutex.close();
    }
  }
}
