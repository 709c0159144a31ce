package dev.platter.node.move;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicLong;

/** A link to a server on this machine that counts what comes back, and breaks after so many. */
final class CutLink implements AutoCloseable {
  private final ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
  private final AtomicLong bytes = new AtomicLong();
  private final int server;
  private final long most;

  CutLink(int server, long most) throws IOException {
    this.server = server;
    this.most = most;
    Thread.ofVirtual().start(this::accept);
  }

  InetSocketAddress address() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), listener.getLocalPort());
  }

  long bytes() {
    return bytes.get();
  }

  private void accept() {
    try {
      while (true) {
        var near = listener.accept();
        var far = new Socket(InetAddress.getLoopbackAddress(), server);
        Thread.ofVirtual().start(() -> copy(near, far, new AtomicLong(), Long.MAX_VALUE));
        Thread.ofVirtual().start(() -> copy(far, near, bytes, most));
      }
    } catch (IOException e) {
      // It was closed.
    }
  }

  private static void copy(Socket from, Socket to, AtomicLong count, long most) {
    try (from;
        to) {
      var buffer = new byte[1 << 14];
      for (int n; (n = from.getInputStream().read(buffer)) >= 0; ) {
        if (count.addAndGet(n) > most) {
          return;
        }
        to.getOutputStream().write(buffer, 0, n);
      }
    } catch (IOException e) {
      // One side has gone, and the other is told.
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
