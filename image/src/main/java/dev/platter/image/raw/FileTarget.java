package dev.platter.image.raw;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A file that starts as one hole, so that zeros cost nothing. */
final class FileTarget implements RawTarget {
  /**
   * After so long the disk is set to work on what waits in memory, and writes while we read. It
   * costs processor time to begin that, which copies that take no longer need not spend.
   */
  private static final long PATIENCE = Duration.ofMillis(200).toNanos();

  private final FileChannel channel;
  private final @Nullable NativeFile file;
  private long begun = System.nanoTime();

  FileTarget(FileChannel channel, @Nullable NativeFile file) {
    this.channel = channel;
    this.file = file;
  }

  static FileTarget create(Path path) throws IOException {
    NativeFile file = NativeFile.create(path);
    return new FileTarget(file.channel(), file);
  }

  static FileTarget emptied(Path path) throws IOException {
    NativeFile file = NativeFile.openToWrite(path);
    try {
      file.truncate(0);
      return new FileTarget(file.channel(), file);
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  @Override
  public void begin(long size) throws IOException {
    long now = channel.size();
    if (now != 0 && now != size) {
      throw new IllegalArgumentException("the target has " + now + " bytes already");
    }
    if (file != null) {
      file.truncate(size);
    } else {
      SparseWriter.extend(channel, size);
    }
  }

  @Override
  public void beginBlank(long size) throws IOException {
    begin(size);
  }

  @Override
  public boolean takes(ByteBuffer bytes) {
    return bytes.isDirect();
  }

  /** One at a time: the kernel lets only one write to a file, and whoever waits there, spins. */
  @Override
  public synchronized void write(ByteBuffer bytes, long at) throws IOException {
    SparseWriter.write(channel, bytes, at);
    if (file != null && System.nanoTime() - begun > PATIENCE) {
      file.startWriting();
      begun = System.nanoTime();
    }
  }

  @Override
  public void zero(long at, long length) {}

  @Override
  public boolean mayShare() {
    return file != null;
  }

  @Override
  public boolean share(long at, NativeFile source, long offset, long length) {
    return file != null && file.cloneRange(source, offset, length, at);
  }

  @Override
  public void end(long size) throws IOException {
    if (file != null) {
      file.truncate(size);
    } else {
      channel.truncate(size);
      SparseWriter.extend(channel, size);
    }
  }

  @Override
  public void force() throws IOException {
    channel.force(true);
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
