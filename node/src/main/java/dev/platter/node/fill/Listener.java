package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
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
  private static final Duration LEAVE = Duration.ofSeconds(1);
  private static final Duration PAUSE = Duration.ofMillis(10);

  /** What is done with a request. */
  @FunctionalInterface
  interface Handler {
    void handle(Exchange exchange) throws IOException;
  }

  private final ServerSocketChannel server;
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
    private final SocketChannel socket;
    private volatile long since = System.nanoTime();
    private volatile Stay stay = Stay.COMES;

    Guest(SocketChannel socket) {
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
    this.server = ServerSocketChannel.open();
    try {
      server.bind(address, BACKLOG);
    } catch (IOException | RuntimeException e) {
      server.close();
      throw e;
    }
    this.tls = tls;
    this.patience = patience;
    this.handler = handler;
    Thread.ofPlatform().name("listen").daemon().start(this::listen);
  }

  InetSocketAddress address() {
    return (InetSocketAddress) server.socket().getLocalSocketAddress();
  }

  private void listen() {
    while (server.isOpen()) {
      try {
        welcome(server.accept());
      } catch (IOException e) {
        // The server is closed, or whoever came has gone.
      }
    }
  }

  private void welcome(SocketChannel socket) {
    var guest = new Guest(socket);
    guests.add(guest);
    if (guests.size() > PLACES) {
      cut(guests.stream().max(Comparator.comparingLong(Guest::age)).orElse(guest));
    }
    Thread.ofPlatform().name("request").daemon().start(() -> serve(guest));
  }

  private void serve(Guest guest) {
    try (var channel = guest.socket) {
      channel.socket().setTcpNoDelay(true);
      var context = tls.get();
      if (context == null) {
        var in = Received.from(channel);
        serve(guest, in, channel.socket().getOutputStream());
      } else {
        try (var socket = secure(context, channel)) {
          var in = new Received(BufferStream.of(socket.getInputStream()));
          serve(guest, in, socket.getOutputStream());
        }
      }
    } catch (IOException e) {
      // They are gone, as they may be.
    } finally {
      cut(guest);
    }
  }

  private void serve(Guest guest, Received in, OutputStream out) throws IOException {
    var exchange = Exchange.read(in, out, () -> guest.now(Stay.LEAVES));
    guest.now(Stay.SERVED);
    handler.handle(exchange);
  }

  private static SSLSocket secure(SSLContext context, SocketChannel channel) throws IOException {
    var socket = (SSLSocket) context.getSocketFactory().createSocket(channel.socket(), null, true);
    socket.setUseClientMode(false);
    return socket;
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
