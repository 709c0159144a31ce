package dev.platter.node.libvirt;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Held while a libvirtd is started or stopped: by one thread of one process. The kernel's file lock
 * keeps other processes out, and dies with its holder; it does not tell threads apart, hence the
 * second lock. The file itself stays: removing it would let two processes lock two different files.
 */
final class StartLock implements AutoCloseable {
  private static final ReentrantLock THIS_PROCESS = new ReentrantLock();

  private final FileChannel channel;

  private StartLock(FileChannel channel) {
    this.channel = channel;
  }

  static StartLock acquire(Path file, Deadline deadline) throws IOException {
    if (!tryThisProcess(deadline)) {
      throw new IOException("another thread is still starting or stopping a libvirtd");
    }
    boolean acquired = false;
    FileChannel channel = null;
    try {
      channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      while (true) {
        FileLock lock = channel.tryLock();
        if (lock != null) {
          acquired = true;
          return new StartLock(channel);
        }
        if (deadline.passed()) {
          throw new IOException(
              "another process has held " + file + " for " + deadline.limit().toSeconds() + " s");
        }
        deadline.pause(Duration.ofMillis(20));
      }
    } finally {
      if (!acquired) {
        closeQuietly(channel);
        THIS_PROCESS.unlock();
      }
    }
  }

  private static boolean tryThisProcess(Deadline deadline) throws IOException {
    while (!THIS_PROCESS.tryLock()) {
      if (deadline.passed()) {
        return false;
      }
      deadline.pause(Duration.ofMillis(20));
    }
    return true;
  }

  private static void closeQuietly(@Nullable FileChannel channel) throws IOException {
    if (channel != null) {
      channel.close();
    }
  }

  @Override
  public void close() throws IOException {
    try {
      channel.close();
    } finally {
      THIS_PROCESS.unlock();
    }
  }
}
