package dev.platter.node;

import dev.platter.image.raw.PinnedFile;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code disk.img} in the root of a file-system volume. The root is the administrator's and is
 * trusted; what is in it may have been put there by anybody who ever used the volume, and may be
 * changed at any moment. So nothing below the root is followed, and what was checked is what is
 * used. That QEMU, which opens it by name, has the same file is checked by {@link QemuProcess}.
 *
 * <p>A disk is as large as its claim, or as what fits if the file system has less room: a guest
 * that finds its disk full can help itself, one whose disk cannot be stored stands still. It grows
 * when the claim or the room does, and is never cut.
 *
 * <p>A new file is for its owner alone, which is who QEMU runs as. One that was there keeps its
 * owner and mode.
 */
final class DiskImg {
  private static final long MIB = 1 << 20;

  /** Of small disks a twentieth is kept. */
  private static final long MOST_RESERVE = 64 * MIB;

  private DiskImg() {}

  /**
   * Whatever is there is for the next step to look at. The name is given by a hard link, which
   * unlike a rename replaces nothing.
   */
  static void make(Step.MakeDiskImg step) throws IOException {
    var root = Path.of(step.root());
    checkRoot(root);
    var file = StateLayout.diskImg(root);
    if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    var unfinished = Path.of(step.unfinished());
    var options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    var mode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    var channel = FileChannel.open(unfinished, options, mode);
    try (channel) {
      extend(channel, newSize(root, step.size()));
      channel.force(true);
      Files.createLink(file, unfinished);
    } catch (FileAlreadyExistsException e) {
      // Somebody made one at the same moment; the next step looks at it.
    } finally {
      Durable.delete(unfinished);
    }
    Durable.syncDirectory(root);
  }

  static void unmake(Step.MakeDiskImg step) throws IOException {
    Durable.delete(Path.of(step.unfinished()));
  }

  /** Refuses what must not be used, and grows what is smaller than its claim. */
  static void check(Step.CheckDiskImg step) throws IOException {
    check(Path.of(step.root()), step.size()).close();
  }

  /** The file that QEMU must have open. */
  static OpenFile expect(Step.CheckDiskImg step) throws IOException {
    return check(Path.of(step.root()), null);
  }

  /** The file that is to be filled, whatever is in it; a new one is empty. */
  static PinnedFile hold(Path root) throws IOException {
    checkRoot(root);
    var file = StateLayout.diskImg(root);
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      Durable.write(file, new byte[0]);
      Durable.syncDirectory(root);
    }
    var pinned = open(root, file);
    try {
      checkKind(file, pinned);
      return pinned;
    } catch (RuntimeException e) {
      pinned.close();
      throw e;
    }
  }

  private static void checkKind(Path file, PinnedFile pinned) {
    if (!pinned.isRegular()) {
      throw refused(file, "is " + pinned.kind());
    }
    if (pinned.names() != 1) {
      throw refused(file, "has " + pinned.names() + " names (hard links)");
    }
  }

  private static OpenFile check(Path root, @Nullable Long claim) throws IOException {
    checkRoot(root);
    var file = StateLayout.diskImg(root);
    var pinned = open(root, file);
    try {
      checkKind(file, pinned);
      var size = claim == null ? pinned.size() : grow(root, pinned, claim);
      if (size == 0) {
        throw refused(file, "is empty");
      }
      return new OpenFile(file, pinned);
    } catch (IOException | RuntimeException e) {
      pinned.close();
      throw e;
    }
  }

  private static PinnedFile open(Path root, Path file) throws IOException {
    try {
      return PinnedFile.open(file);
    } catch (NoSuchFileException e) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "there is no disk.img in the volume at " + root,
          "Only a disk that is written in place is made; put the disk there, raw, as disk.img.",
          e);
    }
  }

  /** What it holds already is room that it has. */
  private static long grow(Path root, PinnedFile pinned, long claim) throws IOException {
    if (pinned.size() >= sizeFor(claim)) {
      return pinned.size();
    }
    var room = root.toFile().getUsableSpace() + SparseFile.allocated(pinned.path());
    var size = Math.max(pinned.size(), sizeFor(Math.min(claim, room)));
    if (size > pinned.size()) {
      try (var channel = FileChannel.open(pinned.path(), StandardOpenOption.WRITE)) {
        extend(channel, size);
        channel.force(true);
      }
    }
    return size;
  }

  private static long newSize(Path root, long claim) {
    var size = sizeFor(Math.min(claim, root.toFile().getUsableSpace()));
    if (size < MIB) {
      throw PlatterException.of(
          Code.INVALID,
          "a claim of " + claim + " bytes at " + root + " leaves no room for a disk",
          "Claim 2Mi at least, and see that the file system has room for them.");
    }
    return size;
  }

  /** Whole mebibytes, less a reserve for the file system's own needs. */
  static long sizeFor(long bytes) {
    return (bytes - Math.min(bytes / 20, MOST_RESERVE)) / MIB * MIB;
  }

  private static void extend(FileChannel channel, long size) throws IOException {
    // Sparse: the last byte is the only one written.
    channel.write(ByteBuffer.allocate(1), size - 1);
  }

  private static void checkRoot(Path root) {
    if (!Files.isDirectory(root)) {
      throw PlatterException.of(
          Files.exists(root) ? Code.INVALID : Code.NOT_FOUND,
          Files.exists(root) ? root + " is not a directory" : "there is no directory " + root,
          "A volume with a file system is used where it is mounted; a device is volumeMode: Block.");
    }
  }

  private static PlatterException refused(Path file, String why) {
    return PlatterException.of(
        Code.REFUSED,
        file + " " + why,
        "A file-system volume holds one raw disk, a plain file named disk.img with no other name.");
  }
}
