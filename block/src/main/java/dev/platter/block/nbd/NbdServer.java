package dev.platter.block.nbd;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
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
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;

/**
 * Shows block devices to NBD clients, over sockets in the file system and over TCP. Exports come
 * and go while it runs; devices stay their owner's, who closes them after {@link #remove} or {@link
 * #close}.
 *
 * <p>Who may connect is up to the directory that a socket lies in, or to TLS; over TCP without TLS
 * everybody may.
 */
public final class NbdServer implements AutoCloseable {
  private static final int MOST_CONNECTIONS = 256;
  private static final int SEND_BUFFER = 2 << 20;
  private static final Duration TO_NEGOTIATE = Duration.ofSeconds(10);
  private static final Duration TO_FINISH = Duration.ofSeconds(5);

  private final Exports exports = new Exports();
  private final BufferPool pool = new BufferPool();
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
  private final List<ServerSocketChannel> listeners = new CopyOnWriteArrayList<>();
  private final Duration toNegotiate;
  private volatile boolean closed;

  /** Its threads are as many as there are slow requests, which every connection limits. */
  private final ExecutorService aside =
      Executors.newCachedThreadPool(Thread.ofPlatform().name("nbd-aside-", 0).daemon().factory());

  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().name("nbd-timer").daemon().factory());

  public NbdServer() {
    this(TO_NEGOTIATE);
  }

  NbdServer(Duration toNegotiate) {
    this.toNegotiate = toNegotiate;
    timer.setRemoveOnCancelPolicy(true);
  }

  /** Offers a device; fails if the name is taken. The empty name is what clients ask for first. */
  public void add(String name, BlockDevice device) {
    exports.add(name, device);
  }

  /**
   * Ends an export and the connections to it, after what they have asked for is done. A client that
   * does not take its answers is cut off after some seconds.
   */
  public void remove(String name) {
    finish(exports.remove(name));
  }

  /** How many clients are connected. */
  public int connections() {
    return connections.size();
  }

  /** Listens on a path that must not exist; {@link #close} removes it. */
  public void listen(UnixDomainSocketAddress address) throws IOException {
    var listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    start(listener, address, Negotiation.Tls.NONE);
  }

  /**
   * Listens on TCP, in the clear.
   *
   * @return the address with the port that was given
   */
  public InetSocketAddress listen(InetSocketAddress address) throws IOException {
    return (InetSocketAddress) start(ServerSocketChannel.open(), address, Negotiation.Tls.NONE);
  }

  /**
   * Listens on TCP; clients must start TLS before they learn anything.
   *
   * @param engines makes one for each connection; it says whom to trust and whether clients need a
   *     certificate
   */
  public InetSocketAddress listen(InetSocketAddress address, Supplier<SSLEngine> engines)
      throws IOException {
    return (InetSocketAddress) start(ServerSocketChannel.open(), address, new StartTls(engines));
  }

  private SocketAddress start(
      ServerSocketChannel listener, SocketAddress address, Negotiation.Tls tls) throws IOException {
    try {
      listener.bind(address);
      SocketAddress bound = listener.getLocalAddress();
      listeners.add(listener);
      Thread.ofPlatform().name("nbd-listen").daemon().start(() -> accept(listener, tls));
      return bound;
    } catch (Throwable e) {
      listener.close();
      throw e;
    }
  }

  private void accept(ServerSocketChannel listener, Negotiation.Tls tls) {
    while (listener.isOpen()) {
      try {
        SocketChannel socket = listener.accept();
        if (connections.size() >= MOST_CONNECTIONS) {
          socket.close();
        } else {
          serve(socket, tls);
        }
      } catch (IOException | OutOfMemoryError e) {
        // Closed, or a client that left in the queue, or no descriptor or thread left: the others
        // are still served, and there may be room later.
        pause();
      }
    }
  }

  private void serve(SocketChannel socket, Negotiation.Tls tls) throws IOException {
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
    var connection = new Connection(socket, exports, tls, pool, aside);
    connections.add(connection);
    try {
      start(connection);
    } catch (Throwable e) {
      connections.remove(connection);
      connection.close();
      throw e;
    }
    if (closed) {
      connection.close(); // it may have come too late for close() to see it
    }
  }

  private void start(Connection connection) {
    connection.deadline(
        timer.schedule(connection::close, toNegotiate.toMillis(), TimeUnit.MILLISECONDS));
    Thread.ofPlatform()
        .name("nbd-connection")
        .daemon()
        .start(
            () -> {
              try {
                connection.run();
              } finally {
                connections.remove(connection);
              }
            });
  }

  private static void pause() {
    try {
      Thread.sleep(10);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void finish(Iterable<Connection> connections) {
    long end = System.nanoTime() + TO_FINISH.toNanos();
    connections.forEach(Connection::finish);
    for (Connection connection : connections) {
      connection.awaitEnd(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
    }
  }

  /** Stops listening, lets clients have the answers to what they have asked, and ends. */
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
