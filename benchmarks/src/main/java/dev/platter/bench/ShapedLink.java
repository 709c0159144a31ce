package dev.platter.bench;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes a server on this machine look as far away as a real one. What the server sends shares one
 * line of a given rate, whatever the number of connections; every byte is half a round trip on its
 * way, in both directions; a new connection costs a round trip before its first byte leaves.
 *
 * <p>Left out: slow start, loss, and the rate of what clients send, which is little. On its way is
 * at most {@link #MOST_PARCELS} parcels for each direction of a connection; whoever sends more
 * waits.
 */
final class ShapedLink implements Closeable {
  /**
   * @param bytesPerSecond from the server, for all connections together; 0 for no limit
   */
  record Shape(long bytesPerSecond, Duration roundTrip) {}

  private static final int PARCEL = 16 << 10;
  private static final int MOST_PARCELS = 256;

  /** How far the line may be behind before those who send wait: it also hides a late wake-up. */
  private static final long QUEUE_NANOS = 5_000_000;

  private final Shape shape;
  private final String host;
  private final int port;
  private final ServerSocket listener;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger connections = new AtomicInteger();
  private long lineFree = System.nanoTime();

  /** Bytes and when they are at the other end; none of them is the end of the stream. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Parcel(byte[] bytes, int length, long due) {}

  /** Tells when a parcel that was sent now arrives; may make the sender wait. */
  private interface Way {
    long arrival(int bytes);
  }

  /**
   * @param server host and port
   */
  ShapedLink(String server, Shape shape) throws IOException {
    var colon = server.lastIndexOf(':');
    this.host = server.substring(0, colon);
    this.port = Integer.parseInt(server.substring(colon + 1));
    this.shape = shape;
    this.listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    thread("link", this::accept);
  }

  /** Host and port to use in place of the server's. */
  String address() {
    return "127.0.0.1:" + listener.getLocalPort();
  }

  /** What the server has sent so far, headers included. */
  long bytes() {
    return bytes.get();
  }

  int connections() {
    return connections.get();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        join(listener.accept());
      } catch (IOException e) {
        // Closed, or a client that left in the queue.
      }
    }
  }

  private void join(Socket client) throws IOException {
    var begun = System.nanoTime() + shape.roundTrip.toNanos();
    var half = shape.roundTrip.toNanos() / 2;
    connections.incrementAndGet();
    open.add(client);
    Socket server;
    try {
      server = new Socket(host, port);
    } catch (IOException e) {
      drop(client);
      throw e;
    }
    open.add(server);
    client.setTcpNoDelay(true);
    server.setTcpNoDelay(true);
    carry(client, server, _ -> Math.max(System.nanoTime(), begun) + half);
    carry(server, client, length -> sent(length) + half);
    if (listener.isClosed()) {
      drop(client, server);
    }
  }

  /** When the last of so many bytes of the server has left. */
  private long sent(int length) {
    bytes.addAndGet(length);
    if (shape.bytesPerSecond == 0) {
      return System.nanoTime();
    }
    long left;
    synchronized (this) {
      left = Math.max(lineFree, System.nanoTime()) + length * 1_000_000_000L / shape.bytesPerSecond;
      lineFree = left;
    }
    sleepUntil(left - QUEUE_NANOS);
    return left;
  }

  private void carry(Socket from, Socket to, Way way) {
    var parcels = new ArrayBlockingQueue<Parcel>(MOST_PARCELS);
    thread("link-in", () -> guard(from, to, () -> take(from, parcels, way)));
    thread("link-out", () -> guard(from, to, () -> deliver(parcels, to)));
  }

  private static void take(Socket from, BlockingQueue<Parcel> parcels, Way way)
      throws IOException, InterruptedException {
    var in = from.getInputStream();
    while (true) {
      var bytes = new byte[PARCEL];
      var length = Math.max(0, in.read(bytes));
      parcels.put(new Parcel(bytes, length, way.arrival(length)));
      if (length == 0) {
        return;
      }
    }
  }

  private void deliver(BlockingQueue<Parcel> parcels, Socket to)
      throws IOException, InterruptedException {
    var out = to.getOutputStream();
    for (var parcel = parcels.take(); parcel.length > 0; parcel = parcels.take()) {
      sleepUntil(parcel.due);
      out.write(parcel.bytes, 0, parcel.length);
    }
    to.shutdownOutput();
  }

  private interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** A direction that breaks takes the whole connection with it. */
  private void guard(Socket from, Socket to, Work work) {
    try {
      work.run();
    } catch (IOException | InterruptedException e) {
      drop(from, to);
    }
  }

  private void drop(Socket... sockets) {
    for (var socket : sockets) {
      open.remove(socket);
      try {
        socket.close();
      } catch (IOException e) {
        // It is of no use any more.
      }
    }
  }

  private static void sleepUntil(long due) {
    for (var left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }

  private static void thread(String name, Runnable work) {
    Thread.ofPlatform().name(name).daemon().start(work);
  }

  @Override
  public void close() throws IOException {
    listener.close();
    drop(open.toArray(Socket[]::new));
  }
}
