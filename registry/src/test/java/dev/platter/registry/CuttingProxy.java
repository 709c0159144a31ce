package dev.platter.registry;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Passes connections on, and cuts one when it has passed so many bytes in all; only once. */
final class CuttingProxy implements Closeable {
  private final ServerSocket server = new ServerSocket(0, 20, InetAddress.getLoopbackAddress());
  private final int target;
  private final long limit;
  private final AtomicLong passed = new AtomicLong();
  private final AtomicInteger cuts = new AtomicInteger();

  CuttingProxy(int target, long limit) throws IOException {
    this.target = target;
    this.limit = limit;
    Thread.startVirtualThread(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  int cuts() {
    return cuts.get();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = server.accept();
        var registry = new Socket(InetAddress.getLoopbackAddress(), target);
        Thread.startVirtualThread(() -> pass(client, registry));
        Thread.startVirtualThread(() -> pass(registry, client));
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private void pass(Socket from, Socket to) {
    byte[] buffer = new byte[16 << 10];
    try (from;
        to;
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream()) {
      for (int read; (read = in.read(buffer)) >= 0; ) {
        long all = passed.addAndGet(read);
        if (all >= limit && cuts.compareAndSet(0, 1)) {
          return;
        }
        out.write(buffer, 0, read);
      }
    } catch (IOException e) {
      // The other direction has closed both.
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
