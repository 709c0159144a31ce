package dev.platter.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Which images were written to claims. That of a file system lies beside its {@code disk.img}, and
 * goes where the volume goes.
 */
record FillRecords(DeviceRecords devices) {
  private static final int MOST = 4096;

  Optional<FillRecord> find(String claim, Step.CheckClaim disk) throws IOException {
    return switch (disk) {
      case Step.CheckDevice device -> devices.find(claim, device);
      case Step.CheckDiskImg img -> read(StateLayout.diskImgRecord(Path.of(img.root())));
    };
  }

  void put(String claim, Step.CheckClaim disk, FillRecord record) throws IOException {
    switch (disk) {
      case Step.CheckDevice device -> devices.put(claim, device, record);
      case Step.CheckDiskImg img ->
          Durable.publish(StateLayout.diskImgRecord(Path.of(img.root())), record.text());
    }
  }

  /** As with {@code disk.img}, it may have been anybody who put it there. */
  private static Optional<FillRecord> read(Path file) throws IOException {
    try (var pinned = PinnedFile.open(file)) {
      if (!pinned.isRegular() || pinned.size() > MOST) {
        throw PlatterException.of(
            Code.REFUSED,
            file + " is not a record of Platter's",
            "Who put it there? Without it the disk counts as somebody else's, and is left alone.");
      }
      try (var in = Files.newInputStream(pinned.path())) {
        // Somebody may make it longer at this moment.
        return FillRecord.parse(new String(in.readNBytes(MOST + 1), UTF_8));
      }
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }
}
