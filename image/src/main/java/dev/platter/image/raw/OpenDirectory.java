package dev.platter.image.raw;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A directory in which things are made and removed by their own names, one step at a time. No call
 * follows a symbolic link, and none takes a name with a slash in it, so what is done is done here.
 *
 * <p>Names are UTF-8, whatever the locale of the process is: the JDK has no paths for others than
 * the locale's.
 */
public final class OpenDirectory implements Closeable {
  private static final int LIST_BYTES = 64 << 10;

  /** Of struct dirent64. */
  private static final int RECORD_LENGTH = 16;

  private static final int RECORD_NAME = 19;

  private final Path shown;
  private final int fd;

  private OpenDirectory(Path shown, int fd) {
    this.shown = shown;
    this.fd = fd;
  }

  /** The one that a path leads to; who gives the path is trusted with it. */
  public static OpenDirectory open(Path path) throws IOException {
    int flags = Libc.O_RDONLY | Libc.O_DIRECTORY | Libc.O_CLOEXEC;
    return new OpenDirectory(path, (int) checked(path, Libc.open(path.toString(), flags, 0)));
  }

  /**
   * @throws NotThere if there is something else of that name, such as a link to a directory
   */
  public OpenDirectory directory(String name) throws IOException {
    int flags = Libc.O_RDONLY | Libc.O_DIRECTORY | Libc.O_NOFOLLOW | Libc.O_CLOEXEC;
    int result = Libc.openAt(fd, step(name), flags, 0);
    if (result == -Libc.ENOTDIR || result == -Libc.ELOOP) {
      throw new NotThere(shown + ": what is called so is no directory");
    }
    return new OpenDirectory(shown, (int) checked(result));
  }

  /** The same, to be closed by itself. */
  public OpenDirectory again() throws IOException {
    int flags = Libc.O_RDONLY | Libc.O_DIRECTORY | Libc.O_CLOEXEC;
    return new OpenDirectory(shown, (int) checked(Libc.openAt(fd, ".", flags, 0)));
  }

  /** What should be there is something else. */
  public static final class NotThere extends IOException {
    private static final long serialVersionUID = 1L;

    NotThere(String message) {
      super(message);
    }
  }

  /** For its owner alone. False if something has that name. */
  public boolean makeDirectory(String name) throws IOException {
    return isNew(Libc.makeDirectoryAt(fd, step(name), 0700));
  }

  /** A symbolic link, which leads anywhere or nowhere. False if something has that name. */
  public boolean makeLink(String name, String target) throws IOException {
    return isNew(Libc.symlinkAt(target, fd, step(name)));
  }

  /**
   * Another name for what has one in another directory of the same file system. False if something
   * has that name.
   *
   * @throws NotThere if nothing has the old name, or a directory, or it has as many as it can have
   */
  public boolean makeName(String name, OpenDirectory from, String there) throws IOException {
    int result = Libc.linkAt(from.fd, step(there), fd, step(name));
    return switch (-result) {
      case Libc.ENOENT, Libc.EPERM, Libc.EMLINK -> throw new NotThere(Libc.message(-result));
      default -> isNew(result);
    };
  }

  /**
   * A new file for its owner alone.
   *
   * @throws java.nio.file.FileAlreadyExistsException if something has that name
   */
  public NewFile makeFile(String name) throws IOException {
    int flags = Libc.O_WRONLY | Libc.O_CREAT | Libc.O_EXCL | Libc.O_NOFOLLOW | Libc.O_CLOEXEC;
    return new NewFile((int) checked(Libc.openAt(fd, step(name), flags, 0600)));
  }

  private boolean isNew(int result) throws IOException {
    return result != -Libc.EEXIST && checked(result) == 0;
  }

  /**
   * Removes a name that is not a directory's; true if nothing has it then. False if a directory has
   * it.
   */
  public boolean removeFile(String name) throws IOException {
    int result = Libc.unlinkAt(fd, step(name), 0);
    return result == -Libc.ENOENT || (result != -Libc.EISDIR && checked(result) == 0);
  }

  /** Removes whatever has the name, a directory with all that is in it. */
  public void remove(String name) throws IOException {
    if (removeFile(name)) {
      return;
    }
    checked(Libc.chmodAt(fd, name, 0700)); // Who made it may not have let even themselves in.
    try (var inside = directory(name)) {
      for (var some = inside.some(); !some.isEmpty(); some = inside.some()) {
        for (var each : some) {
          inside.remove(each);
        }
      }
    }
    checked(Libc.unlinkAt(fd, name, Libc.AT_REMOVEDIR));
  }

  /**
   * Some of the names in it; empty if there are none.
   *
   * @throws FileSystemException also if there is a name that is not UTF-8
   */
  private List<String> some() throws IOException {
    checked(Libc.lseek(fd, 0, Libc.SEEK_SET));
    var out = new ArrayList<String>();
    while (out.isEmpty() && list(out)) {
      // The first piece may have nothing but "." and "..".
    }
    return out;
  }

  /** All names in it. */
  public List<String> names() throws IOException {
    checked(Libc.lseek(fd, 0, Libc.SEEK_SET));
    var out = new ArrayList<String>();
    while (list(out)) {
      // Until there are no more.
    }
    return out;
  }

  private boolean list(List<String> into) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      var buffer = arena.allocate(LIST_BYTES, Long.BYTES);
      long end = checked(Libc.entries(fd, buffer));
      for (long at = 0; at < end; ) {
        int length = buffer.get(JAVA_SHORT_UNALIGNED, at + RECORD_LENGTH) & 0xffff;
        var name = name(buffer.asSlice(at + RECORD_NAME, length - RECORD_NAME));
        if (!name.equals(".") && !name.equals("..")) {
          into.add(name);
        }
        at += length;
      }
      return end > 0;
    }
  }

  private String name(MemorySegment field) throws IOException {
    int length = 0;
    while (field.get(JAVA_BYTE, length) != 0) {
      length++;
    }
    var bytes = ByteBuffer.wrap(field.asSlice(0, length).toArray(JAVA_BYTE));
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (CharacterCodingException e) {
      throw new FileSystemException(shown.toString(), null, "a name in it is not UTF-8");
    }
  }

  /** Of this directory: who may do what, and when it was changed. */
  public void describe(int mode, long seconds, int nanos) throws IOException {
    allow(mode);
    checked(Libc.setTimes(fd, seconds, nanos));
  }

  public void allow(int mode) throws IOException {
    checked(Libc.chmod(fd, mode));
  }

  /** When a link in it was changed. */
  public void describeLink(String name, long seconds, int nanos) throws IOException {
    checked(Libc.setTimesAt(fd, step(name), seconds, nanos));
  }

  /** What tells it from others of its file system. */
  public String inode() throws IOException {
    return "inode " + Files.getAttribute(Path.of("/proc/self/fd/" + fd), "unix:ino");
  }

  /** Returns when everything in its file system is on the disk. */
  public void sync() throws IOException {
    checked(Libc.syncFileSystem(fd));
  }

  private static String step(String name) {
    if (name.isEmpty()
        || name.equals(".")
        || name.equals("..")
        || name.indexOf('/') >= 0
        || name.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("not the name of something in a directory");
    }
    return name;
  }

  private long checked(long result) throws IOException {
    return checked(shown, result);
  }

  private static long checked(Path path, long result) throws IOException {
    if (result < 0) {
      throw NativeFile.failure(path, (int) -result);
    }
    return result;
  }

  @Override
  public void close() {
    Libc.close(fd);
  }

  /** A file that is written from its front on; what is zero becomes a hole. */
  public final class NewFile implements Closeable {
    private final int file;
    private long size;

    private NewFile(int file) {
      this.file = file;
    }

    /** Writes what remains in direct {@code bytes}, which are used up. */
    public void write(ByteBuffer bytes) throws IOException {
      int length = bytes.remaining();
      SparseWriter.write(this::writeRun, bytes, size);
      size += length;
    }

    private void writeRun(ByteBuffer run, long at) throws IOException {
      long end = at + run.remaining();
      while (run.hasRemaining()) {
        long n = Libc.pwrite(file, MemorySegment.ofBuffer(run), end - run.remaining());
        if (n != -Libc.EINTR) {
          run.position(run.position() + (int) checked(n));
        }
      }
    }

    /** It has all its bytes: who may do what, and when it was changed. */
    public void finish(int mode, long seconds, int nanos) throws IOException {
      checked(Libc.ftruncate(file, size));
      checked(Libc.chmod(file, mode));
      checked(Libc.setTimes(file, seconds, nanos));
    }

    @Override
    public void close() {
      Libc.close(file);
    }
  }
}
