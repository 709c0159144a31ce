package dev.platter.image.raw;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Whatever has a name at one moment, held so that what is looked at and what is then used are the
 * same, even if somebody gives the name to something else meanwhile.
 *
 * <p>A symbolic link is held itself and not followed; a FIFO or a device is held and not opened, so
 * nothing waits and nothing is set off. {@link #path} leads back to what is held.
 */
public final class PinnedFile implements Closeable {
  private static final int KIND = 0170000;
  private static final int REGULAR = 0100000;
  private static final int BLOCK_DEVICE = 0060000;
  private static final int DIRECTORY = 0040000;
  private static final int SOCKET = 0140000;

  private final int fd;
  private final int mode;
  private final int names;
  private final long size;
  private final String identity;

  private PinnedFile(Path path) throws IOException {
    this.fd = Libc.open(path.toString(), Libc.O_PATH | Libc.O_NOFOLLOW | Libc.O_CLOEXEC, 0);
    if (fd < 0) {
      throw NativeFile.failure(path, -fd);
    }
    try {
      Map<String, Object> unix = Files.readAttributes(path(), "unix:mode,nlink,size,dev,ino,rdev");
      this.mode = (int) number(unix, "mode");
      this.names = (int) number(unix, "nlink");
      this.size = number(unix, "size");
      this.identity = identity(unix);
    } catch (Throwable e) {
      Libc.close(fd);
      throw e;
    }
  }

  private static String identity(Map<String, Object> unix) {
    return (number(unix, "mode") & KIND) == BLOCK_DEVICE
        ? "block device " + number(unix, "rdev")
        : number(unix, "dev") + ":" + number(unix, "ino");
  }

  /** The identity of what a name leads to; links are followed. */
  public static String identity(Path path) throws IOException {
    return identity(Files.readAttributes(path, "unix:mode,dev,ino,rdev"));
  }

  private static long number(Map<String, Object> unix, String attribute) {
    return ((Number) Objects.requireNonNull(unix.get(attribute))).longValue();
  }

  /**
   * @throws java.nio.file.NoSuchFileException if nothing has the name
   */
  public static PinnedFile open(Path path) throws IOException {
    return new PinnedFile(path);
  }

  /** Whether somebody on this machine, such as a mounted file system, has claimed a device. */
  public static boolean isBusy(Path device) throws IOException {
    Optional<Closeable> claim = claim(device);
    if (claim.isPresent()) {
      claim.get().close();
    }
    return claim.isEmpty();
  }

  /**
   * Claims a device as a mounted file system does: nobody can mount it until this is closed.
   *
   * @return empty if somebody else has
   */
  public static Optional<Closeable> claim(Path device) throws IOException {
    int fd = Libc.open(device.toString(), Libc.O_RDONLY | Libc.O_EXCL | Libc.O_CLOEXEC, 0);
    if (fd == -Libc.EBUSY) {
      return Optional.empty();
    }
    if (fd < 0) {
      throw NativeFile.failure(device, -fd);
    }
    return Optional.of(() -> Libc.close(fd));
  }

  /** A name for it, good in this process until this is closed. */
  public Path path() {
    return Path.of("/proc/self/fd/" + fd);
  }

  /** For people: {@code a regular file}, {@code a symbolic link}, … */
  public String kind() {
    return switch (mode & KIND) {
      case REGULAR -> "a regular file";
      case BLOCK_DEVICE -> "a block device";
      case 0020000 -> "a character device";
      case DIRECTORY -> "a directory";
      case 0120000 -> "a symbolic link";
      case 0010000 -> "a FIFO";
      case SOCKET -> "a socket";
      default -> "something unknown";
    };
  }

  public boolean isRegular() {
    return (mode & KIND) == REGULAR;
  }

  public boolean isBlockDevice() {
    return (mode & KIND) == BLOCK_DEVICE;
  }

  public boolean isDirectory() {
    return (mode & KIND) == DIRECTORY;
  }

  public boolean isSocket() {
    return (mode & KIND) == SOCKET;
  }

  /** How many names (hard links) it has. */
  public int names() {
    return names;
  }

  /** The size of a regular file when it was pinned. */
  public long size() {
    return size;
  }

  /**
   * The same for the same thing, whatever it is called: of a file its file system and inode, of a
   * block device its number, since every {@code /dev} has nodes of its own.
   */
  public String identity() {
    return identity;
  }

  @Override
  public void close() {
    Libc.close(fd);
  }
}
