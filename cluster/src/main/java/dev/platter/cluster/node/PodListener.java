package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;

/**
 * The socket in one pod's directory.
 *
 * <p>A pod has one connection. A launcher connects once, and again only after its container was
 * restarted, when the earlier connection is dead whether or not its reader has noticed; so a new
 * one ends the one before. That also keeps a pod from holding more than two of our descriptors.
 */
final class PodListener {
  private final String podUid;
  private final ServerSocketChannel server;
  private final String identity;
  private final PodDirectory.Connections connections;
  private @Nullable SocketChannel current;

  private PodListener(
      String podUid,
      ServerSocketChannel server,
      String identity,
      PodDirectory.Connections connections) {
    this.podUid = podUid;
    this.server = server;
    this.identity = identity;
    this.connections = connections;
  }

  static PodListener start(
      String podUid, PinnedFile directory, PodDirectory.Connections connections)
      throws IOException {
    var socket = directory.path().resolve(Names.SOCKET);
    // Of an earlier daemon, or of the pod: unlink(2) takes a link itself, not what it leads to.
    Files.deleteIfExists(socket);
    var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      // Does not follow a link either: the name must not exist.
      server.bind(UnixDomainSocketAddress.of(socket));
      var listener = new PodListener(podUid, server, open(directory), connections);
      Thread.ofVirtual().name("pod-" + podUid).start(listener::accept);
      return listener;
    } catch (Throwable e) {
      server.close();
      throw e;
    }
  }

  /** Lets the launcher, which is not root, connect. */
  private static String open(PinnedFile directory) throws IOException {
    try (var made = PinnedFile.open(directory.path().resolve(Names.SOCKET))) {
      if (!made.isSocket() || made.names() != 1) {
        throw PlatterException.of(
            PlatterException.Code.REFUSED,
            "somebody put " + made.kind() + " in the place of a pod's " + Names.SOCKET,
            "delete the pod");
      }
      Files.setPosixFilePermissions(made.path(), PosixFilePermissions.fromString("rw-rw-rw-"));
      return made.identity();
    }
  }

  /** Whether the socket in a directory is the one that this listens on. */
  boolean isIn(PinnedFile directory) throws IOException {
    try (var there = PinnedFile.open(directory.path().resolve(Names.SOCKET))) {
      return server.isOpen() && there.identity().equals(identity);
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  private void accept() {
    while (true) {
      try {
        var channel = server.accept();
        replace(channel);
        Thread.ofVirtual().name("launcher-" + podUid).start(() -> serve(channel));
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
        // Such as too many open files. The pod tries again; the next accept may go better.
        System.err.println("cannot accept a connection of pod " + podUid + ": " + e);
        try {
          Thread.sleep(1000);
        } catch (InterruptedException interrupted) {
          return;
        }
      }
    }
  }

  private synchronized void replace(SocketChannel channel) throws IOException {
    if (current != null) {
      current.close();
    }
    current = channel;
    if (!server.isOpen()) {
      channel.close();
    }
  }

  private void serve(SocketChannel channel) {
    try (channel) {
      connections.accepted(podUid, channel);
    } catch (IOException e) {
      if (channel.isOpen()) {
        System.err.println("the connection of pod " + podUid + " broke: " + e);
      }
    }
  }

  /** Stops listening and ends the pod's connection. */
  synchronized void close() throws IOException {
    server.close();
    if (current != null) {
      current.close();
    }
  }
}
