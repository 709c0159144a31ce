package dev.platter.block.nbd;

import dev.platter.block.BlockDevice;
import dev.platter.block.wire.PeerServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.function.Supplier;
import javax.net.ssl.SSLEngine;

/**
 * Shows block devices to NBD clients, over sockets in the file system and over TCP. Exports come
 * and go while it runs; devices stay their owner's, who closes them after {@link #remove} or {@link
 * #close}.
 *
 * <p>Who may connect is up to the directory that a socket lies in, or to TLS; over TCP without TLS
 * everybody may.
 */
public final class NbdServer implements AutoCloseable {
  private static final Duration TO_NEGOTIATE = Duration.ofSeconds(10);

  private final Exports exports = new Exports();
  private final PeerServer server;

  public NbdServer() {
    this(TO_NEGOTIATE);
  }

  NbdServer(Duration toNegotiate) {
    this.server = new PeerServer("nbd", toNegotiate);
  }

  /** Offers a device; fails if the name is taken. The empty name is what clients ask for first. */
  public void add(String name, BlockDevice device) {
    exports.add(name, device);
  }

  /**
   * Ends an export and the connections to it, after what they have asked for is done. A client that
   * does not take its answers is cut off after some seconds.
   */
  public void remove(String name) {
    PeerServer.finish(exports.remove(name));
  }

  /** How many clients are connected. */
  public int connections() {
    return server.connections();
  }

  /** Listens on a path that must not exist; {@link #close} removes it. */
  public void listen(UnixDomainSocketAddress address) throws IOException {
    var listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    start(listener, address, Negotiation.Tls.NONE);
  }

  /**
   * Listens on TCP, in the clear.
   *
   * @return the address with the port that was given
   */
  public InetSocketAddress listen(InetSocketAddress address) throws IOException {
    return (InetSocketAddress) start(ServerSocketChannel.open(), address, Negotiation.Tls.NONE);
  }

  /**
   * Listens on TCP; clients must start TLS before they learn anything.
   *
   * @param engines makes one for each connection; it says whom to trust and whether clients need a
   *     certificate
   */
  public InetSocketAddress listen(InetSocketAddress address, Supplier<SSLEngine> engines)
      throws IOException {
    return (InetSocketAddress) start(ServerSocketChannel.open(), address, new StartTls(engines));
  }

  private SocketAddress start(
      ServerSocketChannel listener, SocketAddress address, Negotiation.Tls tls) throws IOException {
    return server.listen(
        listener,
        address,
        socket -> new Connection(socket, exports, tls, server.pool(), server.aside()));
  }

  /** Stops listening, lets clients have the answers to what they have asked, and ends. */
  @Override
  public void close() throws IOException {
    server.close();
  }
}
