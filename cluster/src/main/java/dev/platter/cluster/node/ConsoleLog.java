package dev.platter.cluster.node;

import dev.platter.node.ConsoleRoom;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Reads a console's log as it grows. */
final class ConsoleLog implements Closeable {
  private final Path file;
  private final int most;
  private long position;
  private @Nullable FileChannel channel;

  /**
   * @param most how much to read at once
   */
  ConsoleLog(Path file, long position, int most) {
    this.file = file;
    this.position = position;
    this.most = most;
  }

  /** What has come since the last call; empty if nothing has. */
  byte[] next() throws IOException {
    if (channel == null) {
      if (!Files.exists(file)) {
        return new byte[0];
      }
      channel = FileChannel.open(file, StandardOpenOption.READ);
    }
    var size = channel.size();
    if (size <= position) {
      return new byte[0];
    }
    if (size - position > most) {
      position = ConsoleRoom.next(file, position); // What nobody read in time may be gone.
    }
    var buffer = ByteBuffer.allocate((int) Math.min(most, size - position));
    var read = channel.read(buffer, position);
    if (read <= 0) {
      return new byte[0];
    }
    position += read;
    return read == buffer.capacity()
        ? buffer.array()
        : java.util.Arrays.copyOf(buffer.array(), read);
  }

  static long length(Path file) throws IOException {
    return Files.exists(file) ? Files.size(file) : 0;
  }

  @Override
  public void close() throws IOException {
    if (channel != null) {
      channel.close();
    }
  }
}
