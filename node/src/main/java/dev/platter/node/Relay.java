package dev.platter.node;

import dev.platter.model.PlatterException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Connects whoever connects to a socket to somebody else. QEMU could connect there itself; but what
 * goes through this process ends with it. A QEMU that nobody looks after any more sees its
 * connection break, gives up moving, and its guest runs on.
 *
 * <p>The socket is in a directory that only Platter's user can enter, as is the one it leads to on
 * the same machine, which is what keeps strangers from a guest's memory.
 */
final class Relay implements AutoCloseable {
  private final Path here;
  private final Way there;
  private final ServerSocketChannel server;
  private final Set<Link> open = ConcurrentHashMap.newKeySet();
  private final AtomicLong passed = new AtomicLong();

  /** Where it leads. */
  interface Way {
    Link open() throws IOException;
  }

  private Relay(Path here, Way there, ServerSocketChannel server) {
    this.here = here;
    this.there = there;
    this.server = server;
  }

  static Relay open(Path here, Way there) throws IOException {
    Files.deleteIfExists(here);
    var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      server.bind(UnixDomainSocketAddress.of(here));
    } catch (IOException e) {
      server.close();
      throw e;
    }
    var relay = new Relay(here, there, server);
    Thread.ofVirtual().name("relay").start(relay::accept);
    return relay;
  }

  /** The bytes that went from here to there. */
  long passed() {
    return passed.get();
  }

  private void accept() {
    try {
      while (true) {
        connect(Link.of(server.accept()));
      }
    } catch (IOException e) {
      // It was closed.
    }
  }

  private void connect(Link near) throws IOException {
    open.add(near);
    Link far;
    try {
      far = there.open();
    } catch (IOException | PlatterException e) {
      near.close(); // Who connected sees it, and says so.
      return;
    }
    open.add(far);
    Thread.ofVirtual().start(() -> near.pump(far, passed));
    Thread.ofVirtual().start(() -> far.pump(near, new AtomicLong()));
  }

  @Override
  public void close() throws IOException {
    server.close();
    open.forEach(Link::cut);
    Files.deleteIfExists(here);
  }
}
