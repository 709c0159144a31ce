package dev.platter.node.durable;

import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A lock between processes, held through a file. The kernel frees it when its holder dies, however
 * that happens.
 *
 * <p>POSIX locks belong to a process and are all lost when it closes any descriptor of the file, so
 * within one process a file is opened by one holder at a time.
 */
public final class FileMutex implements AutoCloseable {
  private static final Set<Path> HELD_HERE = ConcurrentHashMap.newKeySet();

  private final Path file;
  private final FileChannel channel;

  private FileMutex(Path file, FileChannel channel) {
    this.file = file;
    this.channel = channel;
  }

  /** Waits for the lock; {@code what} names it in the error if it does not become free. */
  public static FileMutex take(Path file, String what, Duration patience) throws IOException {
    var end = System.nanoTime() + patience.toNanos();
    while (true) {
      var mutex = tryTake(file);
      if (mutex.isPresent()) {
        return mutex.get();
      }
      if (System.nanoTime() > end) {
        throw PlatterException.of(
            PlatterException.Code.CONFLICT,
            "another platter process is working on " + what,
            "Wait until it is done, or end it, and try again.");
      }
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw PlatterException.of(
            PlatterException.Code.CONFLICT, "interrupted while waiting for " + what, "", e);
      }
    }
  }

  public static Optional<FileMutex> tryTake(Path file) throws IOException {
    if (!HELD_HERE.add(file)) {
      return Optional.empty();
    }
    FileMutex mutex = null;
    try {
      Durable.makeDirectories(Durable.parent(file));
      mutex = lock(file);
      return Optional.ofNullable(mutex);
    } finally {
      if (mutex == null) {
        HELD_HERE.remove(file);
      }
    }
  }

  private static @Nullable FileMutex lock(Path file) throws IOException {
    var channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    try {
      if (channel.tryLock() != null) {
        return new FileMutex(file, channel);
      }
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
    channel.close();
    return null;
  }

  /** Closing the file frees the lock. */
  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      HELD_HERE.remove(file);
    }
  }
}
