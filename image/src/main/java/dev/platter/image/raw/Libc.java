package dev.platter.image.raw;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The few calls of the C library that the JDK does not offer, on 64-bit Linux. Each returns what
 * the call returns, or the negated errno.
 *
 * <p>All of them go through one handle that takes five longs. The JVM makes code for each shape of
 * a call when it is first linked, which takes tens of milliseconds. In the calling conventions of
 * 64-bit Linux an int or a pointer is passed as a long of the same value, arguments that a function
 * does not have are ignored, and variadic functions are called like others; of an int that is
 * returned only the lower half counts.
 */
final class Libc {
  static final int EPERM = 1;
  static final int ENOENT = 2;
  static final int EINTR = 4;
  static final int ENXIO = 6;
  static final int EBUSY = 16;
  static final int EEXIST = 17;
  static final int EXDEV = 18;
  static final int ENOTDIR = 20;
  static final int EISDIR = 21;
  static final int EINVAL = 22;
  static final int ENOTTY = 25;
  static final int ENOSPC = 28;
  static final int EMLINK = 31;
  static final int ELOOP = 40;
  static final int EOPNOTSUPP = 95;
  static final int EDQUOT = 122;

  static final int O_RDONLY = 0;
  static final int O_WRONLY = 1;
  static final int O_RDWR = 2;
  static final int O_CREAT = 0x40;
  static final int O_EXCL = 0x80;
  static final int O_DIRECT = 0x4000;
  static final int O_CLOEXEC = 0x80000;
  static final int O_PATH = 0x200000;

  /** One of the few numbers that processors differ in; a wrong one would follow links. */
  static final int O_NOFOLLOW = System.getProperty("os.arch").equals("aarch64") ? 0x8000 : 0x20000;

  /** Of these, too. */
  static final int O_DIRECTORY = System.getProperty("os.arch").equals("aarch64") ? 0x4000 : 0x10000;

  static final int AT_SYMLINK_NOFOLLOW = 0x100;
  static final int AT_REMOVEDIR = 0x200;

  static final int SEEK_SET = 0;
  static final int SEEK_END = 2;
  static final int SEEK_DATA = 3;
  static final int SEEK_HOLE = 4;

  static final int FALLOC_FL_KEEP_SIZE = 1;
  private static final int SYNC_FILE_RANGE_WRITE = 2;
  static final int FALLOC_FL_PUNCH_HOLE = 2;
  static final int FALLOC_FL_ZERO_RANGE = 16;

  static final int MADV_POPULATE_READ = 22;
  private static final int RWF_NOWAIT = 8;

  private static final long FICLONE = 0x40049409L;
  private static final long FICLONERANGE = 0x4020940dL;
  private static final long BLKSSZGET = 0x1268L;

  /** Of struct stat, the same for x86-64 and AArch64. */
  private static final int STAT_BYTES = 144;

  private static final int STAT_BLOCKS = 64;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle CALL =
      LINKER.downcallHandle(
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
          Linker.Option.captureCallState("errno"),
          Linker.Option.firstVariadicArg(2));

  private static final MemorySegment OPEN = function("open");
  private static final MemorySegment CLOSE = function("close");
  private static final MemorySegment LSEEK = function("lseek");
  private static final MemorySegment FTRUNCATE = function("ftruncate");
  private static final MemorySegment FALLOCATE = function("fallocate");
  private static final MemorySegment SYNC_FILE_RANGE = function("sync_file_range");
  private static final MemorySegment IOCTL = function("ioctl");
  private static final MemorySegment PWRITE = function("pwrite");
  private static final MemorySegment PREADV2 = function("preadv2");
  private static final MemorySegment MADVISE = function("madvise");
  private static final MemorySegment LSTAT = function("lstat");
  private static final MemorySegment OPENAT = function("openat");
  private static final MemorySegment MKDIRAT = function("mkdirat");
  private static final MemorySegment SYMLINKAT = function("symlinkat");
  private static final MemorySegment LINKAT = function("linkat");
  private static final MemorySegment UNLINKAT = function("unlinkat");
  private static final MemorySegment FCHMOD = function("fchmod");
  private static final MemorySegment FCHMODAT = function("fchmodat");
  private static final MemorySegment FUTIMENS = function("futimens");
  private static final MemorySegment UTIMENSAT = function("utimensat");
  private static final MemorySegment GETDENTS64 = function("getdents64");
  private static final MemorySegment SYNCFS = function("syncfs");
  private static final MemorySegment NICE = function("nice");
  private static final MemorySegment STRERROR = function("strerror");

  /** A struct iovec, and behind it room for errno. */
  private static final int VECTOR_BYTES = 2 * Long.BYTES;

  private static final ThreadLocal<MemorySegment> VECTOR =
      ThreadLocal.withInitial(
          () -> Arena.ofAuto().allocate(VECTOR_BYTES + STATE.byteSize(), Long.BYTES));

  private Libc() {}

  private static MemorySegment function(String name) {
    return LINKER.defaultLookup().findOrThrow(name);
  }

  static int open(String path, int flags, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      return intOf(OPEN, arena.allocateFrom(path).address(), flags, mode, 0);
    }
  }

  static int close(int fd) {
    return intOf(CLOSE, fd, 0, 0, 0);
  }

  static long lseek(int fd, long offset, int whence) {
    return longOf(LSEEK, fd, offset, whence, 0);
  }

  static int ftruncate(int fd, long length) {
    return intOf(FTRUNCATE, fd, length, 0, 0);
  }

  static int fallocate(int fd, int mode, long offset, long length) {
    return intOf(FALLOCATE, fd, mode, offset, length);
  }

  /** Has the kernel begin to write what is not on the disk yet; waits for nothing. */
  static int startWriting(int fd) {
    return intOf(SYNC_FILE_RANGE, fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  }

  /** Makes one file share all the blocks of another. */
  static int clone(int targetFd, int sourceFd) {
    return intOf(IOCTL, targetFd, FICLONE, sourceFd, 0);
  }

  /** Makes a range of one file share the blocks of a range of another. */
  static int cloneRange(int targetFd, long targetOffset, int sourceFd, long offset, long length) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment range = arena.allocateFrom(JAVA_LONG, sourceFd, offset, length, targetOffset);
      return intOf(IOCTL, targetFd, FICLONERANGE, range.address(), 0);
    }
  }

  /** The size of a sector of a block device. */
  static int sectorSize(int fd) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment size = arena.allocate(JAVA_INT);
      int result = intOf(IOCTL, fd, BLKSSZGET, size.address(), 0);
      return result < 0 ? result : size.get(JAVA_INT, 0);
    }
  }

  /** How many blocks of 512 bytes a file takes of its file system; a link is not followed. */
  static long blocks(String path) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment stat = arena.allocate(STAT_BYTES, Long.BYTES);
      int result = intOf(LSTAT, arena.allocateFrom(path).address(), stat.address(), 0, 0);
      return result < 0 ? result : stat.get(JAVA_LONG, STAT_BLOCKS);
    }
  }

  static int openAt(int directory, String name, int flags, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      return intOf(OPENAT, directory, arena.allocateFrom(name).address(), flags, mode);
    }
  }

  static int makeDirectoryAt(int directory, String name, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      return intOf(MKDIRAT, directory, arena.allocateFrom(name).address(), mode, 0);
    }
  }

  /** A symbolic link. */
  static int symlinkAt(String target, int directory, String name) {
    try (Arena arena = Arena.ofConfined()) {
      long to = arena.allocateFrom(target).address();
      return intOf(SYMLINKAT, to, directory, arena.allocateFrom(name).address(), 0);
    }
  }

  /** Another name for what has one; a symbolic link is not followed. */
  static int linkAt(int from, String there, int directory, String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      long old = arena.allocateFrom(there).address();
      long newName = arena.allocateFrom(name).address();
      int result = (int) call(LINKAT, state, from, old, directory, newName, 0);
      return result < 0 ? -(int) ERRNO.get(state, 0L) : result;
    }
  }

  static int unlinkAt(int directory, String name, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      return intOf(UNLINKAT, directory, arena.allocateFrom(name).address(), flags, 0);
    }
  }

  static int chmod(int fd, int mode) {
    return intOf(FCHMOD, fd, mode, 0, 0);
  }

  /** Fails for a symbolic link, rather than to follow it. */
  static int chmodAt(int directory, String name, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      long at = arena.allocateFrom(name).address();
      return intOf(FCHMODAT, directory, at, mode, AT_SYMLINK_NOFOLLOW);
    }
  }

  /** On Linux this is about the thread that calls, not about its process. */
  static int nice(int more) {
    return intOf(NICE, more, 0, 0, 0);
  }

  /** Sets the times of the last access and change. */
  static int setTimes(int fd, long seconds, int nanos) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment times = arena.allocateFrom(JAVA_LONG, seconds, nanos, seconds, nanos);
      return intOf(FUTIMENS, fd, times.address(), 0, 0);
    }
  }

  /** The same by a name; a symbolic link is not followed. */
  static int setTimesAt(int directory, String name, long seconds, int nanos) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment times = arena.allocateFrom(JAVA_LONG, seconds, nanos, seconds, nanos);
      long at = arena.allocateFrom(name).address();
      return intOf(UTIMENSAT, directory, at, times.address(), AT_SYMLINK_NOFOLLOW);
    }
  }

  /** Fills memory with entries of a directory, as many as fit; 0 when there are no more. */
  static long entries(int directory, MemorySegment into) {
    return longOf(GETDENTS64, directory, into.address(), into.byteSize(), 0);
  }

  /** Returns when all of the file system is on the disk. */
  static int syncFileSystem(int fd) {
    return intOf(SYNCFS, fd, 0, 0, 0);
  }

  /** The bytes must be alive and not on the heap. */
  static long pwrite(int fd, MemorySegment bytes, long offset) {
    return longOf(PWRITE, fd, bytes.address(), bytes.byteSize(), offset);
  }

  /**
   * Reads what can be had without waiting for storage. For calls that come by the hundred thousand:
   * each thread keeps the little memory that one needs.
   *
   * @param address of memory that is alive and not on the heap
   */
  static long preadNow(int fd, long address, long length, long offset) {
    MemorySegment vector = VECTOR.get();
    vector.set(JAVA_LONG, 0, address);
    vector.set(JAVA_LONG, Long.BYTES, length);
    MemorySegment state = vector.asSlice(VECTOR_BYTES);
    long result = call(PREADV2, state, fd, vector.address(), 1, offset, RWF_NOWAIT);
    return result < 0 ? -(int) ERRNO.get(state, 0L) : result;
  }

  static int madvise(MemorySegment mapped, int advice) {
    return intOf(MADVISE, mapped.address(), mapped.byteSize(), advice, 0);
  }

  static String message(int errno) {
    try (Arena arena = Arena.ofConfined()) {
      long text = call(STRERROR, arena.allocate(STATE), errno, 0, 0, 0, 0);
      return MemorySegment.ofAddress(text).reinterpret(256).getString(0);
    }
  }

  private static int intOf(MemorySegment function, long a, long b, long c, long d) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int result = (int) call(function, state, a, b, c, d, 0);
      return result < 0 ? -(int) ERRNO.get(state, 0L) : result;
    }
  }

  private static long longOf(MemorySegment function, long a, long b, long c, long d) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      long result = call(function, state, a, b, c, d, 0);
      return result < 0 ? -(int) ERRNO.get(state, 0L) : result;
    }
  }

  private static long call(
      MemorySegment function, MemorySegment state, long a, long b, long c, long d, long e) {
    try {
      return (long) CALL.invokeExact(function, state, a, b, c, d, e);
    } catch (Throwable t) {
      throw new AssertionError("a call with fixed types cannot throw", t);
    }
  }
}
