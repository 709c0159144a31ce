package dev.platter.lab;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;

/** Addresses of this machine that nobody outside reaches. */
public final class Loopback {
  public static final String HOST = "127.0.0.1";

  private static final int TRIES = 100;

  private Loopback() {}

  /**
   * A port that nobody listens at, at an address of this machine. It is none of those that the
   * kernel gives to outgoing connections, so a server that was stopped finds it free again.
   */
  public static int freePort(String host) {
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
      if (isFree(host, port)) {
        return port;
      }
    }
    throw new AssertionError("no free port at " + host);
  }

  public static int freePort() {
    return freePort(HOST);
  }

  /** An address where nobody listens at this port: for servers that know no other port. */
  static String freeHost(int port) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    for (int i = 0; i < TRIES; i++) {
      String host =
          "127.%d.%d.%d"
              .formatted(random.nextInt(1, 255), random.nextInt(1, 255), random.nextInt(1, 255));
      if (isFree(host, port)) {
        return host;
      }
    }
    throw new AssertionError("port %d is taken at every address of 127.0.0.0/8".formatted(port));
  }

  private static boolean isFree(String host, int port) {
    try {
      new ServerSocket(port, 1, InetAddress.ofLiteral(host)).close();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  static boolean listens(String host, int port) {
    return listens(new InetSocketAddress(InetAddress.ofLiteral(host), port));
  }

  static boolean listens(Path socket) {
    return listens(UnixDomainSocketAddress.of(socket));
  }

  private static boolean listens(SocketAddress address) {
    try {
      SocketChannel.open(address).close();
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
