package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.DiskSink;
import dev.platter.image.raw.NativeFile;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The disk file of a layer that can only be read once, from front to back: what has passed can be
 * read, what has not is waited for. Nothing of it is known to be right until the layer's end has
 * confirmed its digests ({@link #end}); a base that is made from it remembers nothing before. Zeros
 * of it are holes of the spool, and a full disk is waited for.
 */
public final class StreamedFile implements DiskFile, DiskSink {
  private final NativeFile spool;
  private final Progress progress = new Progress();
  private final Stop stop = new Stop();
  private final PatientWriter writer = new PatientWriter(progress, stop);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private long size = -1;
  private long passed;
  private boolean ended;
  private @Nullable IOException failure;

  private StreamedFile(NativeFile spool) {
    this.spool = spool;
  }

  /** Begins anew, whatever the directory has from an earlier attempt. */
  public static StreamedFile create(Path directory) throws IOException {
    Path path = new BaseFiles(directory).streamed();
    Files.deleteIfExists(path);
    NativeFile.create(path).close();
    return new StreamedFile(NativeFile.openToWrite(path));
  }

  @Override
  public void begin(String name, long bytes) throws IOException {
    if (bytes > Base.MOST_BYTES) {
      throw new BadImageException("the layer has a disk of " + bytes + " bytes, " + name);
    }
    lock.lock();
    try {
      if (size >= 0) {
        throw new BadImageException("the layer has a second disk, " + name);
      }
      // Zeros are not written, and the last bytes may be some.
      spool.truncate(bytes);
      size = bytes;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void bytes(ByteBuffer bytes) throws IOException {
    int length = bytes.remaining();
    if (passed + length > size) {
      throw new IllegalStateException("more bytes than the disk file has");
    }
    // Only the stream's own thread changes what has passed.
    writer.write(spool.channel(), bytes, passed);
    lock.lock();
    try {
      passed += length;
      progress.fetched.addAndGet(length);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** The layer has ended and its digests are right. */
  public void end() throws IOException {
    lock.lock();
    try {
      if (size < 0 || passed < size) {
        throw new EOFException(
            size < 0 ? "the layer had no disk" : "the disk ended at " + passed + " of " + size);
      }
      ended = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** The layer was not read to its end, or is not what its digests say: every reader fails. */
  public void fail(IOException why) {
    lock.lock();
    try {
      if (failure == null && !ended) {
        failure = why;
        progress.failed(why);
      }
      stop.give();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Whether its readers fail although nobody knows of anything wrong with the image. */
  boolean isCut() {
    lock.lock();
    try {
      return failure != null && !(failure instanceof BadImageException);
    } finally {
      lock.unlock();
    }
  }

  /** Waits until {@link #end}, or fails as the stream did. */
  void awaitEnd() throws IOException {
    lock.lock();
    try {
      while (!ended) {
        throwIfFailed();
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Waits until the disk file has begun. */
  @Override
  public long size() throws IOException {
    lock.lock();
    try {
      while (size < 0) {
        throwIfFailed();
        changed.awaitUninterruptibly();
      }
      return size;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public int read(ByteBuffer into, long position) throws IOException {
    int n = (int) Math.min(into.remaining(), size() - position);
    if (n <= 0) {
      return position >= size() ? -1 : 0;
    }
    awaitPassed(position + n);
    int limit = into.limit();
    try {
      return spool.channel().read(into.limit(into.position() + n), position);
    } finally {
      into.limit(limit);
    }
  }

  private void awaitPassed(long end) throws IOException {
    lock.lock();
    try {
      while (passed < end || failure != null) {
        throwIfFailed();
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  private void throwIfFailed() throws IOException {
    if (failure != null) {
      String why = String.valueOf(failure.getMessage());
      throw failure instanceof BadImageException
          ? new BadImageException(why, failure)
          : new IOException(why, failure);
    }
  }

  @Override
  public void bring(Iterable<Range> ranges) {
    // All comes in its time; reads wait for it.
  }

  @Override
  public @Nullable Sharing sharing(long position) {
    return null;
  }

  @Override
  public Progress progress() {
    return progress;
  }

  @Override
  public void close() throws IOException {
    fail(new IOException("the base was closed"));
    spool.close();
  }
}
