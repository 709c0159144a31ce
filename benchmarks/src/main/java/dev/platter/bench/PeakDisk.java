package dev.platter.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * How much the files in some directories take on the disk at most, looked at a hundred times a
 * second: what is full stays so for longer than that. The JDK tells nothing of blocks, so stat(2)
 * is asked.
 */
final class PeakDisk implements AutoCloseable {
  private static final int PAUSE_MILLIS = 10;
  private static final int STAT_BYTES = 144;
  private static final int BLOCKS_AT = 64;
  private static final int BLOCK = 512;
  private static final MethodHandle STAT =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("stat"),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));

  private final List<Path> directories;
  private volatile boolean ended;
  private volatile long most;

  PeakDisk(List<Path> directories) {
    this.directories = directories;
    Thread.ofPlatform().daemon().name("peak").start(this::look);
  }

  private void look() {
    try {
      while (!ended) {
        most = Math.max(most, now());
        Thread.sleep(PAUSE_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private long now() {
    long bytes = 0;
    for (var directory : directories) {
      try (var files = Files.walk(directory)) {
        bytes += files.filter(Files::isRegularFile).mapToLong(PeakDisk::taken).sum();
      } catch (IOException | UncheckedIOException e) {
        // Something went while it was listed; the next look is soon.
      }
    }
    return bytes;
  }

  private static long taken(Path file) {
    try (var arena = Arena.ofConfined()) {
      var stat = arena.allocate(STAT_BYTES, 8);
      var status = (int) STAT.invokeExact(arena.allocateFrom(file.toString()), stat);
      return status == 0 ? stat.get(ValueLayout.JAVA_LONG, BLOCKS_AT) * BLOCK : 0;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** In bytes. */
  long most() {
    return Math.max(most, now());
  }

  @Override
  public void close() {
    ended = true;
  }
}
