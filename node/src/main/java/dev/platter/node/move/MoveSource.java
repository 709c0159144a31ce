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

  /**
   * Makes the file what the source has, on this backing, and syncs it. What an earlier attempt left
   * in the file is used.
   *
   * @throws dev.platter.model.PlatterException if the source refuses
   */
  public void pull(
      Credentials own,
      IdentityKey key,
      String uid,
      Path file,
      Qcow2Overlay.Backing backing,
      Watcher watcher)
      throws IOException {
    try (var socket = connect(own)) {
      var in =
          new DataInputStream(new BufferedInputStream(socket.getInputStream(), MoveServer.BUFFER));
      var out =
          new DataOutputStream(
              new BufferedOutputStream(socket.getOutputStream(), MoveServer.BUFFER));
      Wire.ask(out, new Wire.Request(key, uid));
      Answer.read(in);
      pull(in, out, file, backing, watcher);
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

  private static void pull(
      DataInputStream in,
      DataOutputStream out,
      Path file,
      Qcow2Overlay.Backing backing,
      Watcher watcher)
      throws IOException {
    var contents = Contents.read(in);
    watcher.room((long) contents.addresses().length * Clusters.SIZE);
    try (var disk = OverlayAssembly.open(file, contents.size(), contents.addresses())) {
      new OverlayReceiver(contents, disk, watcher::bytes).receive(in, out);
      disk.finish(backing);
    } catch (IllegalArgumentException e) {
      throw new IOException("a disk that cannot be: " + e.getMessage(), e);
    }
  }
}
