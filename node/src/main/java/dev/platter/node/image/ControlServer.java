package dev.platter.node.image;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Takes commands for the daemon on a socket in a directory that is its owner's alone. Each
 * connection has a thread and one request.
 */
final class ControlServer implements AutoCloseable {
  /** Answers a request; what it throws is told to whoever asked. */
  interface Handler {
    Message.Done answer(Message request, Images.BytesDone progress) throws Exception;
  }

  private static final int MOST_CONNECTIONS = 64;

  private final Path socket;
  private final Handler handler;
  private final ServerSocketChannel listener;
  private final AtomicInteger connections = new AtomicInteger();

  /** Whoever holds the daemon's lock may remove the socket of one that was killed. */
  ControlServer(Path socket, Handler handler) throws IOException {
    this.socket = socket;
    this.handler = handler;
    Files.deleteIfExists(socket);
    this.listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(socket));
    Thread.ofPlatform().name("control").daemon().start(this::accept);
  }

  /** How many requests are being worked on. */
  int connections() {
    return connections.get();
  }

  private void accept() {
    while (listener.isOpen()) {
      try {
        var connection = listener.accept();
        if (connections.incrementAndGet() > MOST_CONNECTIONS) {
          connections.decrementAndGet();
          connection.close();
          continue;
        }
        Thread.ofPlatform().name("control-request").daemon().start(() -> serve(connection));
      } catch (IOException e) {
        // Closed, or a client that left in the queue.
      }
    }
  }

  private void serve(SocketChannel connection) {
    try (connection) {
      var out = Channels.newOutputStream(connection);
      try {
        var request = Message.read(new BufferedInputStream(Channels.newInputStream(connection)));
        if (request != null) {
          out.write(handler.answer(request, telling(out)).line());
        }
      } catch (Exception e) {
        out.write(Message.Failed.of(e).line());
      }
    } catch (IOException e) {
      // Whoever asked has gone. What was begun for them goes on: others may want it too.
    } finally {
      connections.decrementAndGet();
    }
  }

  private static Images.BytesDone telling(OutputStream out) {
    return (what, done, total) -> {
      try {
        out.write(new Message.Bytes(what, done, total).line());
      } catch (IOException e) {
        // Nobody listens any more.
      }
    };
  }

  @Override
  public void close() throws IOException {
    listener.close();
    Files.deleteIfExists(socket);
  }
}
