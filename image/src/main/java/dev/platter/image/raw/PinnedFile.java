package dev.platter.image.raw;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Whatever has a name at one moment, held so that what is looked at and what is then used are the
 * same, even if somebody gives the name to something else meanwhile.
 *
 * <p>A symbolic link is held itself and not followed; a FIFO or a device is held and not opened, so
 * nothing waits and nothing is set off. {@link #path} leads back to what is held.
 */
public final class PinnedFile implements Closeable {
  private static final int KIND = 0170000;

  private final int fd;
  private final Map<String, Object> attributes;

  private PinnedFile(Path path) throws IOException {
    this.fd =
        Libc.open(path.toString(), Libc.O_PATH | Libc.O_NOFOLLOW | Libc.O_CLOEXEC, 0);
    if (fd < 0) {
      throw NativeFile.failure(path, -fd);
    }
    try {
      this.attributes = Files.readAttributes(path(), "unix:mode,nlink,dev,ino,size");
    } catch (Throwable e) {
      Libc.close(fd);
      throw e;
    }
  }

  /**
   * @throws java.nio.file.NoSuchFileException if nothing has the name
   */
  public static PinnedFile open(Path path) throws IOException {
    return new PinnedFile(path);
  }

  /** Whether somebody on this machine, such as a mounted file system, has claimed a device. */
  public static boolean isBusy(Path device) throws IOException {
    int fd = Libc.open(device.toString(), Libc.O_RDONLY | Libc.O_EXCL | Libc.O_CLOEXEC, 0);
    if (fd == -Libc.EBUSY) {
      return true;
    }
    if (fd < 0) {
      throw NativeFile.failure(device, -fd);
    }
    Libc.close(fd);
    return false;
  }

  /** A name for it, good in this process until this is closed. */
  public Path path() {
    return Path.of("/proc/self/fd/" + fd);
  }

  /** For people: {@code a regular file}, {@code a symbolic link}, … */
  public String kind() {
    return switch (number("mode") & KIND) {
      case 0100000 -> "a regular file";
      case 0040000 -> "a directory";
      case 0120000 -> "a symbolic link";
      case 0010000 -> "a FIFO";
      case 0020000 -> "a character device";
      case 0060000 -> "a block device";
      case 0140000 -> "a socket";
      default -> "something unknown";
    };
  }

  public boolean isRegular() {
    return (number("mode") & KIND) == 0100000;
  }

  public boolean isDirectory() {
    return (number("mode") & KIND) == 0040000;
  }

  /** How many names a file has. */
  public int names() {
    return number("nlink");
  }

  /** The size when it was pinned. */
  public long size() {
    return ((Number) attributes.get("size")).longValue();
  }

  /** The same for the same file, whatever it is called. */
  public String identity() {
    return attributes.get("dev") + ":" + attributes.get("ino");
  }

  private int number(String attribute) {
    return ((Number) attributes.get(attribute)).intValue();
  }

  @Override
  public void close() {
    Libc.close(fd);
  }
}
