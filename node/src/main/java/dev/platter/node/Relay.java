package dev.platter.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Connects whoever connects to one socket to another socket. QEMU could connect there itself; but
 * what goes through this process ends with it. A QEMU that nobody looks after any more sees its
 * connection break, gives up moving, and its guest runs on.
 *
 * <p>Both sockets are in directories that only Platter's user can enter, which is what keeps
 * strangers from a guest's memory.
 */
final class Relay implements AutoCloseable {
  private static final int BUFFER = 256 << 10;

  private final Path here;
  private final Path there;
  private final ServerSocketChannel server;
  private final Set<SocketChannel> open = ConcurrentHashMap.newKeySet();
  private final AtomicLong passed = new AtomicLong();

  private Relay(Path here, Path there, ServerSocketChannel server) {
    this.here = here;
    this.there = there;
    this.server = server;
  }

  static Relay open(Path here, Path there) throws IOException {
    Files.deleteIfExists(here);
    var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      server.bind(UnixDomainSocketAddress.of(here));
    } catch (IOException e) {
      server.close();
      throw e;
    }
    var relay = new Relay(here, there, server);
    Thread.ofVirtual().name("relay").start(relay::accept);
    return relay;
  }

  /** The bytes that went from here to there. */
  long passed() {
    return passed.get();
  }

  private void accept() {
    try {
      while (true) {
        connect(server.accept());
      }
    } catch (IOException e) {
      // It was closed.
    }
  }

  private void connect(SocketChannel near) throws IOException {
    open.add(near);
    SocketChannel far;
    try {
      far = SocketChannel.open(UnixDomainSocketAddress.of(there));
    } catch (IOException e) {
      near.close(); // Who connected sees it, and says so.
      return;
    }
    open.add(far);
    Thread.ofVirtual().start(() -> pump(near, far, passed));
    Thread.ofVirtual().start(() -> pump(far, near, new AtomicLong()));
  }

  private static void pump(SocketChannel from, SocketChannel to, AtomicLong count) {
    try {
      var buffer = ByteBuffer.allocateDirect(BUFFER);
      while (from.read(buffer.clear()) >= 0) {
        count.addAndGet(buffer.flip().remaining());
        while (buffer.hasRemaining()) {
          to.write(buffer);
        }
      }
      to.shutdownOutput();
    } catch (IOException e) {
      close(from);
      close(to);
    }
  }

  private static void close(SocketChannel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    open.forEach(Relay::close);
    Files.deleteIfExists(here);
  }
}
