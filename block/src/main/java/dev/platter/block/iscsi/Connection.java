package dev.platter.block.iscsi;

import dev.platter.block.scsi.Nexus;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.PeerConnection;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.Executor;

/** One initiator, from its connect to its end. */
final class Connection extends PeerConnection {
  /** What a connection asks its server. */
  interface Server {
    List<IscsiTarget> targets();

    /** Says that a session begins, after an earlier one of the same port has ended. */
    boolean begin(Nexus nexus, IscsiTarget target, Connection connection);

    int newSession();

    List<String> addresses(InetSocketAddress local);

    void end(Connection connection);
  }

  private final SocketChannel socket;
  private final Server server;
  private final BufferPool pool;
  private final Executor aside;

  Connection(SocketChannel socket, Server server, BufferPool pool, Executor aside) {
    super(socket);
    this.socket = socket;
    this.server = server;
    this.pool = pool;
    this.aside = aside;
  }

  @Override
  protected void converse() throws IOException {
    Session session = new Login(socket, new Targets(), pool).run();
    begun();
    if (session != null) {
      var local = (InetSocketAddress) socket.getLocalAddress();
      var discovery = new Discovery(session.target(), session.known(), server.addresses(local));
      new FullFeature(session, socket, aside, discovery).run();
    }
  }

  @Override
  protected void leave() {
    server.end(this);
  }

  private final class Targets implements Login.Targets {
    @Override
    public List<IscsiTarget> all() {
      return server.targets();
    }

    @Override
    public boolean begin(Nexus nexus, IscsiTarget target) {
      return server.begin(nexus, target, Connection.this);
    }

    @Override
    public int newSession() {
      return server.newSession();
    }
  }
}
