package dev.platter.node;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/** One end of a connection whose bytes are handed on as they are. */
interface Link extends Closeable {
  int BUFFER = 256 << 10;

  /** Returns -1 if the other has nothing more to say. */
  int read(ByteBuffer buffer) throws IOException;

  /** All of it. */
  void write(ByteBuffer buffer) throws IOException;

  /** There is nothing more to say. */
  void endOutput() throws IOException;

  static Link to(Path socket) throws IOException {
    return of(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
  }

  static Link of(SocketChannel channel) {
    return new Link() {
      @Override
      public int read(ByteBuffer buffer) throws IOException {
        return channel.read(buffer);
      }

      @Override
      public void write(ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
          channel.write(buffer);
        }
      }

      @Override
      public void endOutput() throws IOException {
        channel.shutdownOutput();
      }

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }

  /** Its buffers have to be in the heap. */
  static Link of(Socket socket) {
    return new Link() {
      @Override
      public int read(ByteBuffer buffer) throws IOException {
        var at = buffer.arrayOffset() + buffer.position();
        var n = socket.getInputStream().read(buffer.array(), at, buffer.remaining());
        buffer.position(buffer.position() + Math.max(0, n));
        return n;
      }

      @Override
      public void write(ByteBuffer buffer) throws IOException {
        var at = buffer.arrayOffset() + buffer.position();
        socket.getOutputStream().write(buffer.array(), at, buffer.remaining());
        buffer.position(buffer.limit());
      }

      @Override
      public void endOutput() throws IOException {
        socket.shutdownOutput();
      }

      @Override
      public void close() throws IOException {
        socket.close();
      }
    };
  }

  /** Hands on what comes from here until there is no more; a link that breaks breaks both. */
  default void pump(Link to, AtomicLong count) {
    try {
      var buffer = ByteBuffer.allocate(BUFFER);
      while (read(buffer.clear()) >= 0) {
        count.addAndGet(buffer.flip().remaining());
        to.write(buffer);
      }
      to.endOutput();
    } catch (IOException e) {
      cut();
      to.cut();
    }
  }

  /** Closes it, whatever it says to that. */
  default void cut() {
    try {
      close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
