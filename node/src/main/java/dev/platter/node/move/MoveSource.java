package dev.platter.node.move;

import dev.platter.image.qcow2.Clusters;
import dev.platter.image.qcow2.OverlayAssembly;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.model.IdentityKey;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/**
 * A node, as those see it who want something of it.
 *
 * @param fingerprint of its certificate
 */
public record MoveSource(InetSocketAddress address, String fingerprint) {
  private static final int CONNECT_PATIENCE = 10_000;
  private static final int PATIENCE = 60_000;

  /** Is asked and told on the way. */
  public interface Watcher {
    /** Fails if there is no room for so many bytes. */
    void room(long bytes) throws IOException;

    void bytes(long done, long total);
  }

  /** A disk that the source gives, and keeps for us as long as this is open. */
  public static final class Offer implements AutoCloseable {
    private final SSLSocket socket;
    private final DataInputStream in;
    private final DataOutputStream out;
    private final boolean whole;

    private Offer(SSLSocket socket, Wire.Request request) throws IOException {
      this.socket = socket;
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), MoveServer.BUFFER));
      out =
          new DataOutputStream(
              new BufferedOutputStream(socket.getOutputStream(), MoveServer.BUFFER));
      Wire.ask(out, request);
      Answer.read(in);
      whole = in.readBoolean();
      if (request.whole() && !whole) {
        throw new IOException("it gives less than the whole disk");
      }
    }

    /** Whether it lies on nothing; also if that was not asked for, as there it does not either. */
    public boolean isWhole() {
      return whole;
    }

    /**
     * Makes the file what the source has, and syncs it. What an earlier attempt left in the file is
     * used.
     *
     * @param backing null for a disk that is whole
     */
    public void pull(Path file, Qcow2Overlay.@Nullable Backing backing, Watcher watcher)
        throws IOException {
      if (whole != (backing == null)) {
        throw new IllegalArgumentException("a disk is whole, or lies on something");
      }
      var contents = Contents.read(in);
      watcher.room((long) contents.addresses().length * Clusters.SIZE);
      try (var disk = OverlayAssembly.open(file, contents.size(), contents.addresses())) {
        new OverlayReceiver(contents, disk, watcher::bytes).receive(in, out);
        disk.finish(backing);
      } catch (IllegalArgumentException e) {
        throw new IOException("a disk that cannot be: " + e.getMessage(), e);
      }
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /**
   * Asks for a disk.
   *
   * @param whole whether it has to come with all that it lies on
   * @throws dev.platter.model.PlatterException if the source refuses
   */
  public Offer ask(Credentials own, IdentityKey key, String uid, boolean whole) throws IOException {
    var socket = connect(own);
    try {
      return new Offer(socket, new Wire.Request(key, uid, whole));
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  /** Both sides are known to each other then. It fails if nothing comes for a minute. */
  public SSLSocket connect(Credentials own) throws IOException {
    var plain = new Socket();
    try {
      plain.connect(address, CONNECT_PATIENCE);
      plain.setSoTimeout(PATIENCE);
      plain.setTcpNoDelay(true);
      plain.setKeepAlive(true);
      var socket =
          (SSLSocket)
              own.context(fingerprint::equals)
                  .getSocketFactory()
                  .createSocket(plain, address.getHostString(), address.getPort(), true);
      socket.setUseClientMode(true);
      socket.setSSLParameters(Credentials.parameters());
      socket.startHandshake();
      return socket;
    } catch (IOException | RuntimeException e) {
      plain.close();
      throw e;
    }
  }
}
