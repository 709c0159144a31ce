package dev.platter.image.raw;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.StampedLock;
import java.util.function.LongSupplier;

/**
 * A file descriptor of our own, for calls that need one, and a channel on the same file. The
 * channel is opened through the descriptor, not by the name again, so both are one file even if
 * somebody renames things meanwhile.
 */
public final class NativeFile implements Closeable {
  private final Path path;
  private final int fd;
  private final FileChannel channel;
  private final StampedLock inUse = new StampedLock();
  private volatile boolean tellsWhatWaits = true;
  private boolean closed;

  private NativeFile(Path path, int flags, OpenOption... access) throws IOException {
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

  public static NativeFile open(Path path) throws IOException {
    return new NativeFile(path, Libc.O_RDONLY, StandardOpenOption.READ);
  }

  public static NativeFile openToWrite(Path path) throws IOException {
    return new NativeFile(path, Libc.O_RDWR, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  /** Fails if the name exists, whatever it is. */
  public static NativeFile create(Path path) throws IOException {
    return new NativeFile(
        path, Libc.O_WRONLY | Libc.O_CREAT | Libc.O_EXCL, StandardOpenOption.WRITE);
  }

  /**
   * A block device whose {@link #writeDirectly} goes past the page cache; the channel does not.
   *
   * @throws FileSystemException also if it is not a block device
   */
  static NativeFile openDevice(Path path) throws IOException {
    NativeFile file =
        new NativeFile(
            path, Libc.O_RDWR | Libc.O_DIRECT, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      if (file.sectorSize() <= 0) {
        throw new FileSystemException(path.toString(), null, "not a block device");
      }
      return file;
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  /**
   * Fills what remains of a buffer that is not on the heap, with what is in memory. Where the file
   * system cannot tell what is, it waits for the storage.
   *
   * @return false if storage would have to be waited for, or will give an error; the buffer is then
   *     as it was, and who reads again by the channel learns which
   */
  public boolean readNow(ByteBuffer into, long at) throws IOException {
    int start = into.position();
    while (into.hasRemaining()) {
      int done = into.position() - start;
      long n = tellsWhatWaits ? preadNow(into, at + done) : channel.read(into, at + done);
      if (n == -Libc.EOPNOTSUPP) {
        tellsWhatWaits = false;
      } else if (n <= 0) {
        into.position(start);
        return false;
      } else {
        into.position(start + done + (int) n);
      }
    }
    return true;
  }

  /** As {@link #whileOpen}, and often. */
  private long preadNow(ByteBuffer into, long at) throws IOException {
    long stamp = inUse.readLock();
    try {
      if (closed) {
        throw new ClosedChannelException();
      }
      long address = MemorySegment.ofBuffer(into).address();
      return Libc.preadNow(fd, address, into.remaining(), at);
    } finally {
      inUse.unlockRead(stamp);
      Reference.reachabilityFence(into);
    }
  }

  /** Nobody closes the descriptor meanwhile: its number would soon be another file's. */
  private long whileOpen(LongSupplier call) throws IOException {
    long stamp = inUse.readLock();
    try {
      if (closed) {
        throw new ClosedChannelException();
      }
      return call.getAsLong();
    } finally {
      inUse.unlockRead(stamp);
    }
  }

  public FileChannel channel() {
    return channel;
  }

  /** Not positive if this is no block device. */
  int sectorSize() {
    return Libc.sectorSize(fd);
  }

  /** The size of a device, too, which the channel may not know. */
  long end() throws IOException {
    return checked(whileOpen(() -> Libc.lseek(fd, 0, Libc.SEEK_END)));
  }

  /**
   * Writes some of the bytes; for a device opened as such, all numbers are multiples of a sector.
   */
  long writeDirectly(MemorySegment bytes, long at) throws IOException {
    long n;
    do {
      n = whileOpen(() -> Libc.pwrite(fd, bytes, at));
    } while (n == -Libc.EINTR);
    return checked(n);
  }

  /**
   * Shows a range of the file as memory, read ahead. Somebody who cuts the file off meanwhile makes
   * reads of this memory fail with {@link InternalError} and writes from it with an {@link
   * IOException}; native code other than the kernel must not be given it, since it would crash.
   */
  public MemorySegment map(long offset, long length, Arena arena) throws IOException {
    MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, offset, length, arena);
    // Older kernels cannot, and then each page comes when it is touched.
    Libc.madvise(mapped, Libc.MADV_POPULATE_READ);
    return mapped;
  }

  /** Where the next data starts at or after a position; -1 if only a hole is left. */
  public long nextData(long from) throws IOException {
    long at = whileOpen(() -> Libc.lseek(fd, from, Libc.SEEK_DATA));
    if (at == -Libc.ENXIO) {
      return -1;
    }
    if (at == -Libc.EINVAL) {
      // A device, which does not know about holes.
      return from < end() ? from : -1;
    }
    return checked(at);
  }

  /** Where the data that {@link #nextData} found ends. */
  public long nextHole(long from) throws IOException {
    long at = whileOpen(() -> Libc.lseek(fd, from, Libc.SEEK_HOLE));
    return at == -Libc.EINVAL ? end() : checked(at);
  }

  /** Cuts or extends the file; what is added reads as zeros. */
  public void truncate(long size) throws IOException {
    checked(whileOpen(() -> Libc.ftruncate(fd, size)));
  }

  /** Gives a range back to the file system and makes it read as zeros; false where it cannot. */
  public boolean punchHole(long offset, long length) throws IOException {
    return allocate(Libc.FALLOC_FL_PUNCH_HOLE | Libc.FALLOC_FL_KEEP_SIZE, offset, length);
  }

  /** Has the kernel begin to write to the disk; where it cannot, a later sync does all of it. */
  public void startWriting() {
    Libc.startWriting(fd);
  }

  /** Makes a range read as zeros and keeps its space; false where the file system cannot. */
  public boolean zeroRange(long offset, long length) throws IOException {
    return allocate(Libc.FALLOC_FL_ZERO_RANGE | Libc.FALLOC_FL_KEEP_SIZE, offset, length);
  }

  private boolean allocate(int mode, long offset, long length) throws IOException {
    long result;
    do {
      result = whileOpen(() -> Libc.fallocate(fd, mode, offset, length));
    } while (result == -Libc.EINTR);
    if (result == -Libc.EOPNOTSUPP) {
      return false;
    }
    checked(result);
    return true;
  }

  /** Whether a failure means that the file system is full; the JDK only gives the system's text. */
  public static boolean isNoSpace(IOException e) {
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    return Libc.message(Libc.ENOSPC).equals(reason) || Libc.message(Libc.EDQUOT).equals(reason);
  }

  /** Shares the blocks of another file; false where the file systems cannot. */
  boolean cloneFrom(NativeFile source) throws IOException {
    int result = Libc.clone(fd, source.fd);
    return switch (-result) {
      case Libc.EOPNOTSUPP, Libc.ENOTTY, Libc.EINVAL, Libc.EXDEV -> false;
      default -> checked(result) == 0;
    };
  }

  /**
   * Shares a range of another file, whole blocks of the file system. False where the file systems
   * cannot, or will not for this range: then it has to be copied.
   */
  public boolean cloneRange(NativeFile source, long from, long length, long to) {
    return Libc.cloneRange(fd, to, source.fd, from, length) == 0;
  }

  /** How many blocks of 512 bytes a file takes, which is not opened for it. */
  static long blocks(Path path) throws IOException {
    return checked(path, Libc.blocks(path.toString()));
  }

  private long checked(long result) throws IOException {
    return checked(path, result);
  }

  private static long checked(Path path, long result) throws IOException {
    if (result < 0) {
      throw failure(path, (int) -result);
    }
    return result;
  }

  static IOException failure(Path path, int errno) {
    return switch (errno) {
      case Libc.ENOENT -> new NoSuchFileException(path.toString());
      case Libc.EEXIST -> new FileAlreadyExistsException(path.toString());
      default -> new FileSystemException(path.toString(), null, Libc.message(errno));
    };
  }

  @Override
  public void close() throws IOException {
    long stamp = inUse.writeLock();
    try {
      if (!closed) {
        closed = true;
        try {
          channel.close();
        } finally {
          Libc.close(fd);
        }
      }
    } finally {
      inUse.unlockWrite(stamp);
    }
  }
}
