package dev.platter.image.ext4;

import static java.nio.file.StandardOpenOption.WRITE;

import dev.platter.image.qcow2.Clusters;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.raw.PartitionTable;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.raw.SparseFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.UUID;

/**
 * A new qcow2 disk with one partition, which has an empty ext4 file system. It takes no guest and
 * no mount: {@code mke2fs} formats a sparse temporary file, and what it wrote (18 MB for 2 TiB)
 * becomes the clusters of the disk.
 *
 * <p>The file system has the features that guests of the last fifteen years can write to. The same
 * size, id and time give the same bytes.
 */
public final class FormattedDisk {
  /** The least that has room for a journal of 4 MiB, which {@code mke2fs} insists on. */
  public static final long MIN_SIZE = 9 << 20;

  /** The most that a partition of an MBR can have. */
  public static final long MAX_SIZE = PartitionTable.MAX_DISK;

  private FormattedDisk() {}

  /**
   * Makes the disk under its final name, which must not exist, and syncs it. As for other overlays,
   * the caller removes what is there after a failure. The temporary file is gone afterwards; after
   * a crash it is where {@link #temporary} says, and the next try replaces it.
   *
   * @param size in bytes, rounded up to a multiple of 512
   * @param id of the file system; half of it names the disk to the guest
   * @param made when the file system says it was made
   * @param scratch a directory for the temporary file, which takes no more space than the disk
   */
  public static void create(Path qcow2, long size, UUID id, Instant made, Path scratch)
      throws IOException {
    if (size < MIN_SIZE || size > MAX_SIZE) {
      throw new IllegalArgumentException(
          "a formatted disk of %d bytes: it must have %d to %d"
              .formatted(size, MIN_SIZE, MAX_SIZE));
    }
    long whole = (size + 511) & ~511L;
    Path raw = temporary(qcow2, scratch);
    Files.deleteIfExists(raw);
    try {
      SparseFile.create(raw, whole);
      Mke2fs.format(
          raw, PartitionTable.FIRST_PARTITION, PartitionTable.partitionSize(whole), id, made);
      writeMbr(raw, whole, id);
      try (RawDisk disk = RawDisk.open(raw)) {
        Qcow2Overlay.create(qcow2, null, whole, Clusters.of(disk));
      }
    } finally {
      Files.deleteIfExists(raw);
    }
  }

  /** The name of the temporary file, for who cleans up after a crash. */
  public static Path temporary(Path qcow2, Path scratch) {
    return scratch.resolve("." + qcow2.getFileName() + ".format");
  }

  private static void writeMbr(Path raw, long size, UUID id) throws IOException {
    int signature = (int) (id.getMostSignificantBits() >>> 32);
    ByteBuffer mbr = ByteBuffer.wrap(PartitionTable.mbr(size, signature));
    try (FileChannel file = FileChannel.open(raw, WRITE)) {
      for (long at = 0; mbr.hasRemaining(); ) {
        at += file.write(mbr, at);
      }
    }
  }
}
