package dev.platter.node;

import dev.platter.image.Digest;
import dev.platter.image.fill.Fill;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Where a disk or the files of an archive are brought to. Whenever the process is killed, nobody
 * can take what is there for all of it, and who tries again begins anew.
 *
 * <p>The order: {@link #begin}, {@link #open} once for each try, {@link #complete}.
 */
public interface FillTarget extends AutoCloseable {
  /**
   * A directory is the file system of a volume, whose disk is {@code disk.img}, or into which an
   * archive is unpacked; a block device is itself the disk; all else is a file that is to be made.
   *
   * @param format what comes, if somebody said
   * @param size how large a disk in a directory should be, 0 for as large as what comes
   * @param replace whether what Platter has put there may be lost
   * @param made whether the target was made for this and is nobody else's: bytes that a device has
   *     then are those of a volume that was deleted
   */
  static FillTarget of(
      StateLayout layout,
      Path path,
      @Nullable Format format,
      long size,
      boolean replace,
      boolean made)
      throws IOException {
    var absolute = path.toAbsolutePath().normalize();
    if (format == Format.TAR) {
      return ArchiveTarget.at(layout, absolute, size, replace);
    }
    if (Files.isDirectory(absolute)) {
      return ClaimTarget.ofVolume(layout, absolute, size, replace);
    }
    return Files.exists(absolute) && !Files.isRegularFile(absolute)
        ? ClaimTarget.ofDevice(layout, absolute, replace, made)
        : NewFileTarget.at(layout, absolute, replace);
  }

  /**
   * What is there already and complete, if it came from that source.
   *
   * @param digest what it must have, if that is known
   * @throws dev.platter.model.PlatterException if what is there must not be lost
   */
  Optional<FillRecord> held(String source, Optional<Digest> digest) throws IOException;

  /** From now on it is known that what is there is not whole. */
  void begin(String source) throws IOException;

  /**
   * For one try; what an earlier one wrote is gone.
   *
   * @param expected the digest of the file as it comes
   * @param progress is told how many bytes of it have come
   */
  Fill open(@Nullable Format format, Optional<Digest> expected, LongConsumer progress)
      throws IOException;

  /** Everything is on the disk, and it can be used. */
  void complete(Filled filled) throws IOException;

  /** Leaves nothing half done, if it was not completed. */
  @Override
  void close() throws IOException;
}
