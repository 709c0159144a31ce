package dev.platter.cli;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * A packed layer until it is pushed. The file loses its name as soon as it is open, so that nothing
 * is left of it however the process ends.
 */
final class LayerFile implements Closeable {
  private final FileChannel channel;
  private final AtomicLong taken = new AtomicLong();

  private LayerFile(FileChannel channel) {
    this.channel = channel;
  }

  static LayerFile in(Path directory) throws IOException {
    var file = Files.createTempFile(directory, "platter-push-", ".layer");
    return new LayerFile(
        FileChannel.open(
            file,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            StandardOpenOption.DELETE_ON_CLOSE));
  }

  OutputStream out() {
    return Channels.newOutputStream(channel);
  }

  /** How many bytes were read from all streams. */
  long taken() {
    return taken.get();
  }

  /**
   * @param position is told how far the reading has come
   */
  InputStream open(long offset, LongConsumer position) {
    return new InputStream() {
      private long at = offset;

      @Override
      public int read() throws IOException {
        var one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] buffer, int start, int length) throws IOException {
        int read = channel.read(ByteBuffer.wrap(buffer, start, length), at);
        if (read > 0) {
          at += read;
          taken.addAndGet(read);
          position.accept(at);
        }
        return read;
      }
    };
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
