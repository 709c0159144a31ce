package dev.platter.block.nbd;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.nio.channels.Channel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One client, from its connect to its end, on a thread of its own. */
final class Connection implements Runnable {
  private final SocketChannel socket;
  private final Exports exports;
  private final Negotiation.Tls tls;
  private final BufferPool pool;
  private final Executor aside;
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile @Nullable Future<?> deadline;

  Connection(
      SocketChannel socket, Exports exports, Negotiation.Tls tls, BufferPool pool, Executor aside) {
    this.socket = socket;
    this.exports = exports;
    this.tls = tls;
    this.pool = pool;
    this.aside = aside;
  }

  /** What ends the connection if the client does not come to the point; set before it runs. */
  void deadline(Future<?> deadline) {
    this.deadline = deadline;
  }

  @Override
  public void run() {
    try (socket) {
      Session session = new Negotiation(socket, new ByName(), tls).run();
      endDeadline();
      if (session != null) {
        new Transmission(session, pool, aside).run();
      }
    } catch (IOException e) {
      // The client is gone or broke the protocol; to end the connection is the answer to both.
    } finally {
      endDeadline();
      exports.leave(this);
      ended.countDown();
    }
  }

  private void endDeadline() {
    Future<?> set = deadline;
    if (set != null) {
      set.cancel(false);
    }
  }

  private final class ByName implements Negotiation.Exchange {
    @Override
    public Iterable<String> names() {
      return exports.names();
    }

    @Override
    public @Nullable BlockDevice find(String name) {
      return exports.find(name);
    }

    @Override
    public @Nullable BlockDevice use(String name) {
      return exports.use(name, Connection.this);
    }
  }

  /** Takes no more requests; those that have arrived are still answered. */
  void finish() {
    try {
      socket.shutdownInput();
    } catch (IOException e) {
      closeQuietly(socket);
    }
  }

  /** Ends the connection at the latest when the time is over. */
  void awaitEnd(Duration most) {
    boolean interrupted = false;
    try {
      if (ended.await(most.toNanos(), TimeUnit.NANOSECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      interrupted = true;
    }
    closeQuietly(socket);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  void close() {
    closeQuietly(socket);
  }

  static void closeQuietly(Channel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // Whoever closes this way has nothing more to say to the client.
    }
  }
}
