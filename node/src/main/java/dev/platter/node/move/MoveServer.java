package dev.platter.node.move;

import dev.platter.image.qcow2.OverlayReader;
import dev.platter.image.qcow2.WholeReader;
import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * Gives disks of this node to others. Who is not known by a certificate is not talked to; what a
 * node that is known may have is for the lender to say. None of them can keep the others out: each
 * has its share of the connections, and each address of those of which it is not known yet whose
 * they are.
 */
public final class MoveServer implements AutoCloseable {
  /** With this number begins what is about running VMs. */
  public static final int GUESTS = 0x50474d31; // PGM1

  /** Of all nodes. A VM that comes takes one for each of its disks, and two more. */
  private static final int CONNECTIONS = 128;

  /** Connections of which it is not known yet whose they are; they have a few seconds. */
  private static final int STRANGERS = 64;

  private static final int PATIENCE = 60_000;
  private static final int HANDSHAKE_PATIENCE = 10_000;
  public static final int BUFFER = 1 << 18;

  /** Decides about disks. */
  public interface Lender {
    /**
     * Fails if the node may not have it.
     *
     * @param node who asks
     * @param whole whether it is wanted with all that it lies on; fails if that is not here in full
     */
    Loan lend(String node, IdentityKey key, String uid, boolean whole) throws IOException;
  }

  /** A disk that nobody writes to as long as the loan lasts. */
  public interface Loan {
    Path file();

    /** The raw file that it lies on; null if on nothing. */
    @Nullable Path base();

    boolean lasts();
  }

  /** Takes in VMs that run. */
  public interface Guests {
    /**
     * Talks with the other side until both have no more to say.
     *
     * @param node who it is
     */
    void serve(String node, Socket socket, DataInputStream in, DataOutputStream out)
        throws IOException;
  }

  private final ServerSocket listener;
  private final SSLContext tls;
  private final Function<String, Optional<String>> peers;
  private final Lender lender;
  private final Guests guests;
  private final Consumer<String> log;
  private final Shares<InetAddress> strangers = new Shares<>(STRANGERS);
  private final Shares<String> nodes = new Shares<>(CONNECTIONS);
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  private MoveServer(
      ServerSocket listener,
      Credentials own,
      Function<String, Optional<String>> peers,
      Lender lender,
      Guests guests,
      Consumer<String> log) {
    this.listener = listener;
    this.tls = own.context(fingerprint -> peers.apply(fingerprint).isPresent());
    this.peers = peers;
    this.lender = lender;
    this.guests = guests;
    this.log = log;
  }

  /** One that takes in no VMs. */
  public static MoveServer start(
      InetSocketAddress address,
      Credentials own,
      Function<String, Optional<String>> peers,
      Lender lender,
      Consumer<String> log)
      throws IOException {
    return start(
        address,
        own,
        peers,
        lender,
        (node, _, _, _) -> {
          throw new IOException("no VM comes here from " + node);
        },
        log);
  }

  /**
   * @param peers whose certificate has this fingerprint; empty if nobody's
   */
  public static MoveServer start(
      InetSocketAddress address,
      Credentials own,
      Function<String, Optional<String>> peers,
      Lender lender,
      Guests guests,
      Consumer<String> log)
      throws IOException {
    var listener = new ServerSocket();
    try {
      listener.setReuseAddress(true);
      listener.bind(address);
    } catch (IOException e) {
      listener.close();
      throw new IOException("cannot listen on " + address + ": " + e.getMessage(), e);
    }
    var server = new MoveServer(listener, own, peers, lender, guests, log);
    Thread.ofPlatform().daemon().name("moves").start(server::accept);
    return server;
  }

  public int port() {
    return listener.getLocalPort();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        var socket = listener.accept();
        if (strangers.take(socket.getInetAddress())) {
          Thread.ofVirtual().name("move").start(() -> serve(socket));
        } else {
          socket.close();
        }
      } catch (IOException e) {
        if (!listener.isClosed()) {
          log.accept("moves: " + e);
        }
      }
    }
  }

  private void serve(Socket plain) {
    open.add(plain);
    try (plain;
        var socket = greet(plain)) {
      var shown = (X509Certificate) socket.getSession().getPeerCertificates()[0];
      var node = peers.apply(Credentials.fingerprint(shown));
      if (node.isPresent()) {
        welcome(socket, node.get());
      }
    } catch (IOException e) {
      log.accept("moves: " + plain.getRemoteSocketAddress() + ": " + e.getMessage());
    } catch (RuntimeException e) {
      log.accept("moves: " + plain.getRemoteSocketAddress() + ": " + e);
    } finally {
      open.remove(plain);
    }
  }

  /** Until it is known whose it is. */
  private SSLSocket greet(Socket plain) throws IOException {
    try {
      plain.setSoTimeout(HANDSHAKE_PATIENCE);
      plain.setTcpNoDelay(true);
      plain.setKeepAlive(true);
      var socket = (SSLSocket) tls.getSocketFactory().createSocket(plain, null, true);
      socket.setUseClientMode(false);
      socket.setSSLParameters(Credentials.parameters());
      socket.startHandshake();
      return socket;
    } finally {
      strangers.give(plain.getInetAddress());
    }
  }

  private void welcome(SSLSocket socket, String node) throws IOException {
    if (!nodes.take(node)) {
      throw new IOException(node + " has its share of the connections already");
    }
    try {
      serve(socket, node);
    } finally {
      nodes.give(node);
    }
  }

  private void serve(SSLSocket socket, String node) throws IOException {
    var in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER));
    var out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), BUFFER));
    var magic = in.readInt();
    if (magic == GUESTS) {
      guests.serve(node, socket, in, out);
      return;
    }
    var request = Wire.request(magic, in);
    socket.setSoTimeout(PATIENCE);
    Loan loan;
    try {
      loan = lender.lend(node, request.key(), request.uid(), request.whole());
    } catch (PlatterException e) {
      Answer.no(out, e);
      return;
    }
    var base = loan.base();
    try (var disk =
        base != null && request.whole()
            ? WholeReader.open(loan.file(), base)
            : OverlayReader.open(loan.file())) {
      Answer.yes(out);
      out.writeBoolean(base == null || request.whole());
      new OverlaySender(disk, loan::lasts).send(in, out);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (var socket : open) {
      socket.close();
    }
  }
}
