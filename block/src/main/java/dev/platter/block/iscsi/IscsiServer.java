package dev.platter.block.iscsi;

import dev.platter.block.scsi.Nexus;
import dev.platter.block.wire.PeerServer;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Shows block devices to iSCSI initiators. Targets come and go while it runs; devices stay their
 * owner's, who closes them after {@link #remove} or {@link #close}.
 *
 * <p>Every address it listens on is a portal of all targets. Bytes are not encrypted: CHAP keeps
 * others out, and nothing but the network keeps them from listening.
 */
public final class IscsiServer implements AutoCloseable {
  private static final Duration TO_LOG_IN = Duration.ofSeconds(10);

  private final Sessions sessions = new Sessions();
  private final AtomicInteger numbers = new AtomicInteger();
  private final PeerServer server;

  public IscsiServer() {
    this(TO_LOG_IN);
  }

  IscsiServer(Duration toLogIn) {
    this.server = new PeerServer("iscsi", toLogIn);
  }

  /** Offers a target; fails if the name is taken. */
  public void add(IscsiTarget target) {
    sessions.add(target);
  }

  /**
   * Ends a target and the sessions with it, after what has arrived is done. An initiator that does
   * not take its answers is cut off after some seconds.
   */
  public void remove(String name) {
    PeerServer.finish(sessions.remove(name));
  }

  /** How many initiators are connected. */
  public int connections() {
    return server.connections();
  }

  /**
   * Opens a portal.
   *
   * @return the address with the port that was given
   */
  public InetSocketAddress listen(InetSocketAddress address) throws IOException {
    return (InetSocketAddress)
        server.listen(
            ServerSocketChannel.open(),
            address,
            socket -> new Connection(socket, new ForConnections(), server.pool(), server.aside()));
  }

  private final class ForConnections implements Connection.Server {
    @Override
    public List<IscsiTarget> targets() {
      return sessions.targets();
    }

    @Override
    public boolean begin(Nexus nexus, IscsiTarget target, Connection connection) {
      return sessions.begin(nexus, target, connection);
    }

    @Override
    public int newSession() {
      return 1 + Math.floorMod(numbers.getAndIncrement(), 0xffff);
    }

    /** A portal on all addresses is known by the one that the initiator has found. */
    @Override
    public List<String> addresses(InetSocketAddress local) {
      return server.addresses().stream()
          .map(InetSocketAddress.class::cast)
          .map(
              portal ->
                  portal.getAddress().isAnyLocalAddress()
                      ? text(local.getAddress(), portal.getPort())
                      : text(portal.getAddress(), portal.getPort()))
          .distinct()
          .toList();
    }

    @Override
    public void end(Connection connection) {
      sessions.end(connection);
    }
  }

  private static String text(InetAddress address, int port) {
    String host = address.getHostAddress();
    return address instanceof Inet6Address ? "[" + host + "]:" + port : host + ":" + port;
  }

  /** Stops listening, lets initiators have the answers to what they have asked, and ends. */
  @Override
  public void close() throws IOException {
    server.close();
  }
}
