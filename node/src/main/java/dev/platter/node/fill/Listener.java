package dev.platter.node.fill;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * Takes connections for a server of HTTP, each for one request. There are {@link #PLACES} of them,
 * and nobody keeps one who does not say what they want, or who was answered and goes on sending:
 * after a while they are cut off, and the longest of those at once when somebody else comes and all
 * places are taken. The JDK's server knows no limit for heads alone.
 */
final class Listener implements AutoCloseable {
  static final int PLACES = 64;
  private static final int BACKLOG = 64;
  private static final int BUFFER = 64 << 10;
  private static final Duration LEAVE = Duration.ofSeconds(1);
  private static final Duration PAUSE = Duration.ofMillis(10);

  /** What is done with a request. */
  @FunctionalInterface
  interface Handler {
    void handle(Exchange exchange) throws IOException;
  }

  private final ServerSocket server;
  private final Handler handler;
  private final Supplier<? extends @Nullable SSLContext> tls;
  private final Duration patience;
  private final Set<Guest> guests = ConcurrentHashMap.newKeySet();

  private enum Stay {
    COMES,
    SERVED,
    LEAVES
  }

  /** Who is connected. Compared as an object. */
  private static final class Guest {
    private final Socket socket;
    private volatile long since = System.nanoTime();
    private volatile Stay stay = Stay.COMES;

    Guest(Socket socket) {
      this.socket = socket;
    }

    void now(Stay next) {
      since = System.nanoTime();
      stay = next;
    }

    /** How long nothing is done for them; who is served has all the time. */
    long age() {
      return stay == Stay.SERVED ? -1 : System.nanoTime() - since;
    }
  }

  /**
   * @param tls whose certificate it shows to the next who comes; null for plain HTTP
   * @param patience how long a head may take
   */
  Listener(
      InetSocketAddress address,
      Supplier<? extends @Nullable SSLContext> tls,
      Duration patience,
      Handler handler)
      throws IOException {
    this.server = new ServerSocket(address.getPort(), BACKLOG, address.getAddress());
    this.tls = tls;
    this.patience = patience;
    this.handler = handler;
    Thread.ofPlatform().name("listen").daemon().start(this::listen);
  }

  InetSocketAddress address() {
    return (InetSocketAddress) server.getLocalSocketAddress();
  }

  private void listen() {
    while (!server.isClosed()) {
      try {
        welcome(server.accept());
      } catch (IOException e) {
        // The server is closed, or whoever came has gone.
      }
    }
  }

  private void welcome(Socket socket) throws IOException {
    var guest = new Guest(socket);
    guests.add(guest);
    if (guests.size() > PLACES) {
      cut(guests.stream().max(Comparator.comparingLong(Guest::age)).orElse(guest));
    }
    Thread.ofVirtual().name("request").start(() -> serve(guest));
  }

  private void serve(Guest guest) {
    try (var socket = spoken(guest.socket)) {
      socket.setTcpNoDelay(true);
      var in = new BufferedInputStream(socket.getInputStream(), BUFFER);
      var exchange = Exchange.read(in, socket.getOutputStream(), () -> guest.now(Stay.LEAVES));
      guest.now(Stay.SERVED);
      handler.handle(exchange);
    } catch (IOException e) {
      // They are gone, as they may be.
    } finally {
      cut(guest);
    }
  }

  private Socket spoken(Socket socket) throws IOException {
    var context = tls.get();
    if (context == null) {
      return socket;
    }
    var secure = (SSLSocket) context.getSocketFactory().createSocket(socket, null, true);
    secure.setUseClientMode(false);
    return secure;
  }

  /** Cuts off who has not said what they want, or has not gone, for too long. */
  void check() {
    guests.stream().filter(guest -> guest.age() > patience.toNanos()).forEach(this::cut);
  }

  private void cut(Guest guest) {
    guests.remove(guest);
    try {
      guest.socket.close();
    } catch (IOException e) {
      // It is gone already.
    }
  }

  /** Who has asked has a moment to hear the answer. */
  @Override
  public void close() throws IOException {
    server.close();
    long end = System.nanoTime() + LEAVE.toNanos();
    try {
      while (guests.stream().anyMatch(guest -> guest.stay != Stay.COMES)
          && System.nanoTime() < end) {
        Thread.sleep(PAUSE);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    guests.forEach(this::cut);
  }
}
