package dev.platter.image.raw;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file descriptor of our own, for calls that need one, and a channel on the same file. The
 * channel is opened through the descriptor, not by the name again, so both are one file even if
 * somebody renames things meanwhile.
 */
final class NativeFile implements Closeable {
  private final Path path;
  private final int fd;
  private final FileChannel channel;

  private NativeFile(Path path, int flags, OpenOption access) throws IOException {
    this.path = path;
    this.fd = Libc.open(path.toString(), flags | Libc.O_CLOEXEC, 0666);
    if (fd < 0) {
      throw failure(path, -fd);
    }
    try {
      this.channel = FileChannel.open(Path.of("/proc/self/fd/" + fd), access);
    } catch (Throwable e) {
      Libc.close(fd);
      throw e;
    }
  }

  static NativeFile open(Path path) throws IOException {
    return new NativeFile(path, Libc.O_RDONLY, StandardOpenOption.READ);
  }

  /** Fails if the name exists, whatever it is. */
  static NativeFile create(Path path) throws IOException {
    return new NativeFile(
        path, Libc.O_WRONLY | Libc.O_CREAT | Libc.O_EXCL, StandardOpenOption.WRITE);
  }

  FileChannel channel() {
    return channel;
  }

  /** Where the next data starts at or after a position; -1 if only a hole is left. */
  long nextData(long from) throws IOException {
    long at = Libc.lseek(fd, from, Libc.SEEK_DATA);
    if (at == -Libc.ENXIO) {
      return -1;
    }
    return checked(at);
  }

  /** Where the data that {@link #nextData} found ends. */
  long nextHole(long from) throws IOException {
    return checked(Libc.lseek(fd, from, Libc.SEEK_HOLE));
  }

  void truncate(long size) throws IOException {
    checked(Libc.ftruncate(fd, size));
  }

  /** Shares the blocks of another file; false where the file systems cannot. */
  boolean cloneFrom(NativeFile source) {
    return Libc.clone(fd, source.fd) == 0;
  }

  private long checked(long result) throws IOException {
    if (result < 0) {
      throw failure(path, (int) -result);
    }
    return result;
  }

  private static IOException failure(Path path, int errno) {
    return switch (errno) {
      case Libc.ENOENT -> new NoSuchFileException(path.toString());
      case Libc.EEXIST -> new FileAlreadyExistsException(path.toString());
      default -> new FileSystemException(path.toString(), null, Libc.message(errno));
    };
  }

  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      Libc.close(fd);
    }
  }
}
