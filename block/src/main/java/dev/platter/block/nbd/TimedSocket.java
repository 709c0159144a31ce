package dev.platter.block.nbd;

import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/**
 * A connection to a server who may be silent or slow: waiting for him ends after a time, and when
 * the thread is interrupted. The time starts anew with {@link #progress} and with each 64 KiB that
 * come; single bytes now and then do not keep a connection alive.
 */
final class TimedSocket implements ByteChannel {
  private static final int STEP = 1 << 16;

  private final SocketChannel socket;
  private final Selector selector;
  private final SelectionKey key;
  private Duration limit;
  private long start;
  private int sinceStart;

  private TimedSocket(SocketChannel socket, Selector selector, Duration limit) throws IOException {
    this.socket = socket;
    this.selector = selector;
    this.limit = limit;
    socket.configureBlocking(false);
    key = socket.register(selector, 0);
    progress();
  }

  static TimedSocket connect(SocketAddress address, Duration limit) throws IOException {
    boolean unix = address instanceof UnixDomainSocketAddress;
    Selector selector = Selector.open();
    try {
      SocketChannel socket =
          unix
              ? SocketChannel.open(java.net.StandardProtocolFamily.UNIX)
              : SocketChannel.open().setOption(StandardSocketOptions.TCP_NODELAY, true);
      try {
        var timed = new TimedSocket(socket, selector, limit);
        timed.connect(address, unix);
        return timed;
      } catch (Throwable e) {
        socket.close();
        throw e;
      }
    } catch (Throwable e) {
      selector.close();
      throw e;
    }
  }

  private void connect(SocketAddress address, boolean unix) throws IOException {
    if (socket.connect(address)) {
      return;
    }
    if (unix) {
      // Not "in progress", as with TCP: the queue of the listener is full.
      throw new PeerException("the server takes no more connections");
    }
    do {
      await(SelectionKey.OP_CONNECT);
    } while (!socket.finishConnect());
  }

  /** From now on the other side has this long for each step. */
  void allow(Duration limit) {
    this.limit = limit;
    progress();
  }

  /** The time starts anew. */
  void progress() {
    start = System.nanoTime();
    sinceStart = 0;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int n;
    while ((n = socket.read(into)) == 0) {
      await(SelectionKey.OP_READ);
    }
    sinceStart += n;
    if (sinceStart >= STEP) {
      progress();
    }
    return n;
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    int n;
    while ((n = send(from)) == 0) {
      await(SelectionKey.OP_WRITE);
    }
    return n;
  }

  private int send(ByteBuffer from) throws IOException {
    try {
      return socket.write(from);
    } catch (IOException e) {
      throw new PeerException("the connection broke", e);
    }
  }

  private void await(int operation) throws IOException {
    long left = limit.toNanos() - (System.nanoTime() - start);
    if (left <= 0) {
      throw new PeerException("the server did not answer within " + seconds(limit));
    }
    key.interestOps(operation);
    selector.select(_ -> {}, Math.max(1, left / 1_000_000));
    if (Thread.currentThread().isInterrupted()) {
      throw new ClosedByInterruptException();
    }
  }

  private static String seconds(Duration duration) {
    return duration.toMillis() % 1000 == 0
        ? duration.toSeconds() + " s"
        : duration.toMillis() + " ms";
  }

  @Override
  public boolean isOpen() {
    return socket.isOpen();
  }

  @Override
  public void close() throws IOException {
    try (selector) {
      socket.close();
    }
  }
}
