package dev.platter.image.raw;

import static java.lang.foreign.ValueLayout.ADDRESS;
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
 */
final class Libc {
  static final int ENOENT = 2;
  static final int EINTR = 4;
  static final int ENXIO = 6;
  static final int EEXIST = 17;
  static final int ENOSPC = 28;
  static final int EOPNOTSUPP = 95;

  static final int O_RDONLY = 0;
  static final int O_WRONLY = 1;
  static final int O_RDWR = 2;
  static final int O_CREAT = 0x40;
  static final int O_EXCL = 0x80;
  static final int O_DIRECT = 0x4000;
  static final int O_CLOEXEC = 0x80000;

  static final int SEEK_END = 2;
  static final int SEEK_DATA = 3;
  static final int SEEK_HOLE = 4;

  static final int FALLOC_FL_KEEP_SIZE = 1;
  static final int FALLOC_FL_PUNCH_HOLE = 2;
  static final int FALLOC_FL_ZERO_RANGE = 16;

  static final int MADV_POPULATE_READ = 22;

  private static final long FICLONE = 0x40049409L;
  private static final long FICLONERANGE = 0x4020940dL;
  private static final long BLKSSZGET = 0x1268L;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle OPEN =
      call("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), 2);
  private static final MethodHandle CLOSE =
      call("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT), -1);
  private static final MethodHandle LSEEK =
      call("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT), -1);
  private static final MethodHandle FTRUNCATE =
      call("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG), -1);
  private static final MethodHandle FALLOCATE =
      call(
          "fallocate",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG),
          -1);
  private static final MethodHandle IOCTL =
      call("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT), 2);
  private static final MethodHandle IOCTL_POINTER =
      call("ioctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS), 2);
  private static final MethodHandle PWRITE =
      call("pwrite", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG), -1);
  private static final MethodHandle MADVISE =
      call("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT), -1);
  private static final MethodHandle STRERROR =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("strerror"), FunctionDescriptor.of(ADDRESS, JAVA_INT));

  private Libc() {}

  private static MethodHandle call(String name, FunctionDescriptor type, int firstVariadic) {
    MemorySegment function = LINKER.defaultLookup().findOrThrow(name);
    Linker.Option errno = Linker.Option.captureCallState("errno");
    return firstVariadic < 0
        ? LINKER.downcallHandle(function, type, errno)
        : LINKER.downcallHandle(
            function, type, errno, Linker.Option.firstVariadicArg(firstVariadic));
  }

  static int open(String path, int flags, int mode) {
    return (int)
        negatedErrno(
            (arena, s) -> (int) OPEN.invokeExact(s, arena.allocateFrom(path), flags, mode));
  }

  static int close(int fd) {
    return (int) negatedErrno((arena, s) -> (int) CLOSE.invokeExact(s, fd));
  }

  static long lseek(int fd, long offset, int whence) {
    return negatedErrno((arena, s) -> (long) LSEEK.invokeExact(s, fd, offset, whence));
  }

  static int ftruncate(int fd, long length) {
    return (int) negatedErrno((arena, s) -> (int) FTRUNCATE.invokeExact(s, fd, length));
  }

  static int fallocate(int fd, int mode, long offset, long length) {
    return (int)
        negatedErrno((arena, s) -> (int) FALLOCATE.invokeExact(s, fd, mode, offset, length));
  }

  /** Makes one file share all the blocks of another. */
  static int clone(int targetFd, int sourceFd) {
    return (int)
        negatedErrno((arena, s) -> (int) IOCTL.invokeExact(s, targetFd, FICLONE, sourceFd));
  }

  /** Makes a range of one file share the blocks of a range of another. */
  static int cloneRange(int targetFd, long targetOffset, int sourceFd, long offset, long length) {
    return (int)
        negatedErrno(
            (arena, s) -> {
              MemorySegment range =
                  arena.allocateFrom(JAVA_LONG, sourceFd, offset, length, targetOffset);
              return (int) IOCTL_POINTER.invokeExact(s, targetFd, FICLONERANGE, range);
            });
  }

  /** The size of a sector of a block device. */
  static int sectorSize(int fd) {
    return (int)
        negatedErrno(
            (arena, s) -> {
              MemorySegment size = arena.allocate(JAVA_INT);
              int result = (int) IOCTL_POINTER.invokeExact(s, fd, BLKSSZGET, size);
              return result < 0 ? result : size.get(JAVA_INT, 0);
            });
  }

  static long pwrite(int fd, MemorySegment bytes, long offset) {
    return negatedErrno(
        (arena, s) -> (long) PWRITE.invokeExact(s, fd, bytes, bytes.byteSize(), offset));
  }

  static int madvise(MemorySegment mapped, int advice) {
    return (int)
        negatedErrno((arena, s) -> (int) MADVISE.invokeExact(s, mapped, mapped.byteSize(), advice));
  }

  static String message(int errno) {
    try {
      MemorySegment text = (MemorySegment) STRERROR.invokeExact(errno);
      return text.reinterpret(256).getString(0);
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  @FunctionalInterface
  private interface Call {
    long invoke(Arena arena, MemorySegment state) throws Throwable;
  }

  private static long negatedErrno(Call call) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      long result = call.invoke(arena, state);
      return result < 0 ? -(long) (int) ERRNO.get(state, 0L) : result;
    } catch (Throwable e) {
      throw new AssertionError("a call with fixed types cannot throw", e);
    }
  }
}
