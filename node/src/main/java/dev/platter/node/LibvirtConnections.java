package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.libvirt.Libvirt;
import dev.platter.node.libvirt.LibvirtException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Connections to one libvirt, made when they are needed and each used by one caller at a time.
 *
 * <p>libvirt lets many threads call on one connection, and one of them does the input and output of
 * all. In libvirt 9 it can miss that another has something to send, until its own answer comes: and
 * a QEMU that waits for its storage never gives one.
 */
final class LibvirtConnections implements AutoCloseable {
  private static final int MOST_IDLE = 4;

  private final Supplier<String> uri;
  private final Deque<Libvirt> idle = new ArrayDeque<>();
  private boolean closed;

  LibvirtConnections(Supplier<String> uri) {
    this.uri = uri;
  }

  /** What is done on a connection; what it gets from there does not outlive it. */
  interface Work<T extends @Nullable Object, E extends Exception> {
    T on(Libvirt libvirt) throws E;
  }

  <T extends @Nullable Object, E extends Exception> T use(Work<T, E> work) throws E {
    var connection = take();
    try {
      return work.on(connection);
    } finally {
      giveBack(connection);
    }
  }

  private Libvirt take() {
    for (var known = poll(); known != null; known = poll()) {
      if (answers(known)) {
        return known;
      }
      known.close();
    }
    return open(uri.get());
  }

  private synchronized @Nullable Libvirt poll() {
    return idle.poll();
  }

  private static Libvirt open(String address) {
    try {
      return Libvirt.open(address);
    } catch (LibvirtException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "libvirt at " + address + " cannot be reached: " + e.getMessage(),
          "'platter doctor' checks what this machine lacks.",
          e);
    }
  }

  /** libvirtd may have been restarted since we connected; a daemon outlives it. */
  private static boolean answers(Libvirt connection) {
    try {
      connection.version();
      return true;
    } catch (LibvirtException e) {
      return false;
    }
  }

  private synchronized void giveBack(Libvirt connection) {
    if (closed || idle.size() == MOST_IDLE) {
      connection.close();
    } else {
      idle.push(connection);
    }
  }

  /** Those in use end with their use. */
  @Override
  public synchronized void close() {
    closed = true;
    idle.forEach(Libvirt::close);
    idle.clear();
  }
}
