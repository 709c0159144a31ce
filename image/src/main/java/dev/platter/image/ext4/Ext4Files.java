package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.time.Instant;
import java.util.List;

/**
 * Writes files into the ext2, ext3 or ext4 file system of a disk, for guests that have nothing that
 * would fetch them. There is no mount and no guest: the disk is only read, and what would have to
 * change in it is returned, to be laid over it.
 *
 * <p>A file system that was not unmounted is refused, since its journal may say otherwise than its
 * blocks, and so is one with a feature that is not known here; the journal is left alone. Memory
 * and time are bounded whatever the disk holds.
 *
 * <p>Left out: LVM, encryption, other file systems, removing files, links and directories as such.
 */
public final class Ext4Files {
  /** The bytes of all files together. */
  public static final int MAX_CONTENT = 16 << 20;

  /** 34 bits of seconds, of which those before 1970 have the first 2^31. */
  private static final long MAX_TIME = (1L << 34) - (1L << 31) - 1;

  private Ext4Files() {}

  /**
   * Finds the file system, which is the first with a directory {@code /etc}, else the first of all,
   * and writes files in it, in their order. Directories that are missing are made (0755, root).
   *
   * @param now the time of all changes
   * @throws BadImageException if there is none or if it cannot take the files: nothing is changed
   */
  public static Patch write(ByteSource disk, List<NewFile> files, Instant now) throws IOException {
    long bytes = files.stream().mapToLong(file -> file.content().length).sum();
    if (bytes > MAX_CONTENT) {
      throw new IllegalArgumentException(
          "%d bytes of files: %d can be written at once".formatted(bytes, MAX_CONTENT));
    }
    long seconds = now.getEpochSecond();
    if (seconds < 0 || seconds > MAX_TIME) {
      throw new IllegalArgumentException("ext4 has no way to say " + now);
    }
    Volume volume = VolumeSearch.find(disk, seconds);
    var writer = new FileWriter(volume);
    for (NewFile file : files) {
      new PathWalk(volume, writer, file).go();
    }
    return volume.seal();
  }
}
