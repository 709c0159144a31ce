package dev.platter.block.nbd;

import dev.platter.block.BlockDevice;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.PeerConnection;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** One client, from its connect to its end. */
final class Connection extends PeerConnection {
  private final SocketChannel socket;
  private final Exports exports;
  private final Negotiation.Tls tls;
  private final BufferPool pool;
  private final Executor aside;

  Connection(
      SocketChannel socket, Exports exports, Negotiation.Tls tls, BufferPool pool, Executor aside) {
    super(socket);
    this.socket = socket;
    this.exports = exports;
    this.tls = tls;
    this.pool = pool;
    this.aside = aside;
  }

  @Override
  protected void converse() throws IOException {
    Session session = new Negotiation(socket, new ByName(), tls).run();
    begun();
    if (session != null) {
      new Transmission(session, pool, aside).run();
    }
  }

  @Override
  protected void leave() {
    exports.leave(this);
  }

  private final class ByName implements Negotiation.Exchange {
    @Override
    public Iterable<String> names() {
      return exports.names();
    }

    @Override
    public @Nullable BlockDevice find(String name) {
      return exports.find(name);
    }

    @Override
    public @Nullable BlockDevice use(String name) {
      return exports.use(name, Connection.this);
    }
  }
}
