package dev.platter.registry;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * Connections that wait for the next request to the same server: a new one costs a round trip. The
 * one that was used last is taken first, since servers close the others sooner.
 *
 * <p>None waits for long, whether or not somebody asks again. One that a server has closed, or has
 * said something on that nobody asked for, is not given out; one that it closes at that very moment
 * is, and {@link PlainGet} sees to that.
 */
final class IdleConnections {
  static final int MOST = 16;
  private static final long LONGEST_NANOS = 20_000_000_000L;
  private static final long LOOK_MILLIS = 5_000;

  private final Deque<Idle> connections = new ArrayDeque<>();
  private boolean watched;

  private record Idle(String server, PlainConnection connection, long since) {}

  /** Null if none is left. */
  synchronized @Nullable PlainConnection take(URI uri) {
    String server = server(uri);
    for (Iterator<Idle> all = connections.iterator(); all.hasNext(); ) {
      Idle idle = all.next();
      if (idle.server.equals(server)) {
        all.remove();
        if (idle.connection.isQuiet()) {
          return idle.connection;
        }
        close(idle);
      }
    }
    return null;
  }

  synchronized void give(URI uri, PlainConnection connection) {
    connections.addFirst(new Idle(server(uri), connection, System.nanoTime()));
    if (connections.size() > MOST) {
      close(connections.removeLast());
    }
    if (!watched) {
      Thread.ofPlatform().name("idle-connections").daemon().start(this::watch);
      watched = true; // Not before: without a thread the next one tries again.
    }
  }

  private void watch() {
    do {
      try {
        Thread.sleep(LOOK_MILLIS);
      } catch (InterruptedException e) {
        throw new IllegalStateException("nobody interrupts this thread", e);
      }
    } while (closeOld());
  }

  /** False if none is left. */
  private synchronized boolean closeOld() {
    long now = System.nanoTime();
    while (!connections.isEmpty() && now - connections.getLast().since > LONGEST_NANOS) {
      close(connections.removeLast());
    }
    watched = !connections.isEmpty();
    return watched;
  }

  private static String server(URI uri) {
    return uri.getHost() + ":" + PlainGet.port(uri);
  }

  private static void close(Idle idle) {
    try {
      idle.connection.close();
    } catch (IOException e) {
      // Nobody wants it any more.
    }
  }
}
