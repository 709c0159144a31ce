package dev.platter.node.network;

import dev.platter.block.nbd.NbdClient;
import java.io.IOException;
import java.net.SocketAddress;
import java.time.Duration;

/**
 * An export of an NBD server. It is what our client speaks, so QEMU need not stand between: that
 * would cost half of the speed.
 */
public final class NbdDisk implements OpenDisk {
  private static final Duration TO_CONNECT = Duration.ofSeconds(30);
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final SocketAddress server;
  private final String export;
  private final long size;

  private NbdDisk(SocketAddress server, String export, long size) {
    this.server = server;
    this.export = export;
    this.size = size;
  }

  public static NbdDisk open(SocketAddress server, String export) throws IOException {
    try (var client = connect(server, export)) {
      return new NbdDisk(server, export, client.size());
    }
  }

  private static NbdClient connect(SocketAddress server, String export) throws IOException {
    return NbdClient.connect(server, export, TO_CONNECT, PATIENCE);
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public NbdClient connect() throws IOException {
    return connect(server, export);
  }

  @Override
  public void close() {}
}
