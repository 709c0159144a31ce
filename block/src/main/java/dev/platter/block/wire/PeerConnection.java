package dev.platter.block.wire;

import java.io.IOException;
import java.nio.channels.Channel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One peer, from its connect to its end, on a thread of its own. */
public abstract class PeerConnection {
  private final SocketChannel socket;
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile @Nullable Future<?> deadline;

  protected PeerConnection(SocketChannel socket) {
    this.socket = socket;
  }

  /** Says what the protocol says, until the peer is gone or has broken it. */
  protected abstract void converse() throws IOException;

  /** It has ended: nobody is to wait for it any more. */
  protected abstract void leave();

  /** The peer has come to the point, so it may take its time from now on. */
  protected final void begun() {
    Future<?> set = deadline;
    if (set != null) {
      set.cancel(false);
    }
  }

  /** What ends the connection if the peer does not come to the point; set before it runs. */
  final void deadline(Future<?> deadline) {
    this.deadline = deadline;
  }

  /**
   * @param left done before those who wait for the end hear of it
   */
  final void run(Runnable left) {
    try (socket) {
      converse();
    } catch (IOException e) {
      // The peer is gone or broke the protocol; to end the connection is the answer to both.
    } finally {
      begun();
      leave();
      left.run();
      ended.countDown();
    }
  }

  /** Takes no more requests; those that have arrived are still answered. */
  final void finish() {
    try {
      socket.shutdownInput();
    } catch (IOException e) {
      close();
    }
  }

  /** Ends the connection at the latest when the time is over. */
  public final void awaitEnd(Duration most) {
    boolean interrupted = false;
    try {
      if (ended.await(most.toNanos(), TimeUnit.NANOSECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      interrupted = true;
    }
    close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  public final void close() {
    closeQuietly(socket);
  }

  public static void closeQuietly(Channel channel) {
    try {
      channel.close();
    } catch (IOException e) {
      // Whoever closes this way has nothing more to say to the peer.
    }
  }
}
