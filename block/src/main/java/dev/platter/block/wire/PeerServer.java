package dev.platter.block.wire;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Listens, and gives each peer that connects a thread: so many at most, and none for longer than it
 * may take to come to the point.
 */
public final class PeerServer implements AutoCloseable {
  private static final int MOST_CONNECTIONS = 256;
  private static final int SEND_BUFFER = 2 << 20;
  private static final Duration TO_FINISH = Duration.ofSeconds(5);

  private final String name;
  private final Duration toBegin;
  private final BufferPool pool = new BufferPool();
  private final Set<PeerConnection> connections = ConcurrentHashMap.newKeySet();
  private final List<ServerSocketChannel> listeners = new CopyOnWriteArrayList<>();
  private final List<SocketAddress> addresses = new CopyOnWriteArrayList<>();
  private final ExecutorService aside;
  private final ScheduledThreadPoolExecutor timer;
  private volatile boolean closed;

  /**
   * @param name what its threads are called
   * @param toBegin how long a peer may take to come to the point
   */
  public PeerServer(String name, Duration toBegin) {
    this.name = name;
    this.toBegin = toBegin;
    aside =
        Executors.newCachedThreadPool(
            Thread.ofPlatform().name(name + "-aside-", 0).daemon().factory());
    timer =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().name(name + "-timer").daemon().factory());
    timer.setRemoveOnCancelPolicy(true);
  }

  /** Buffers for all connections. */
  public BufferPool pool() {
    return pool;
  }

  /** Its threads are as many as there are slow requests, which every connection limits. */
  public Executor aside() {
    return aside;
  }

  /** How many peers are connected. */
  public int connections() {
    return connections.size();
  }

  /** Where it listens. */
  public List<SocketAddress> addresses() {
    return List.copyOf(addresses);
  }

  /**
   * @param listener not bound yet; closed with the server. A socket in the file system goes too
   * @param connect makes the connection of a peer
   * @return the address with the port that was given
   */
  public SocketAddress listen(
      ServerSocketChannel listener,
      SocketAddress address,
      Function<SocketChannel, PeerConnection> connect)
      throws IOException {
    try {
      listener.bind(address);
      SocketAddress bound = listener.getLocalAddress();
      listeners.add(listener);
      addresses.add(bound);
      Thread.ofPlatform().name(name + "-listen").daemon().start(() -> accept(listener, connect));
      return bound;
    } catch (Throwable e) {
      listener.close();
      throw e;
    }
  }

  private void accept(
      ServerSocketChannel listener, Function<SocketChannel, PeerConnection> connect) {
    while (listener.isOpen()) {
      try {
        SocketChannel socket = listener.accept();
        if (connections.size() >= MOST_CONNECTIONS) {
          socket.close();
        } else {
          serve(socket, connect);
        }
      } catch (IOException | OutOfMemoryError e) {
        // Closed, or a peer that left in the queue, or no descriptor or thread left: the others
        // are still served, and there may be room later.
        pause();
      }
    }
  }

  private void serve(SocketChannel socket, Function<SocketChannel, PeerConnection> connect)
      throws IOException {
    try {
      socket.setOption(StandardSocketOptions.SO_SNDBUF, SEND_BUFFER);
      if (socket.supportedOptions().contains(StandardSocketOptions.TCP_NODELAY)) {
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
        socket.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      }
    } catch (IOException e) {
      socket.close();
      throw e;
    }
    PeerConnection connection = connect.apply(socket);
    connections.add(connection);
    try {
      connection.deadline(
          timer.schedule(connection::close, toBegin.toMillis(), TimeUnit.MILLISECONDS));
      Thread.ofPlatform()
          .name(name + "-connection")
          .daemon()
          .start(() -> connection.run(() -> connections.remove(connection)));
    } catch (Throwable e) {
      connections.remove(connection);
      connection.close();
      throw e;
    }
    if (closed) {
      connection.close(); // it may have come too late for close() to see it
    }
  }

  private static void pause() {
    try {
      Thread.sleep(10);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Lets them have the answers to what they have asked; who does not take them is cut off. */
  public static void finish(Iterable<? extends PeerConnection> connections) {
    long end = System.nanoTime() + TO_FINISH.toNanos();
    connections.forEach(PeerConnection::finish);
    for (PeerConnection connection : connections) {
      connection.awaitEnd(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
    }
  }

  /** Stops listening, lets peers have the answers to what they have asked, and ends. */
  @Override
  public void close() throws IOException {
    closed = true;
    for (ServerSocketChannel listener : listeners) {
      SocketAddress address = listener.getLocalAddress();
      listener.close();
      if (address instanceof UnixDomainSocketAddress unix) {
        Files.deleteIfExists(unix.getPath());
      }
    }
    listeners.clear();
    finish(connections);
    timer.shutdownNow();
    aside.shutdown();
  }
}
