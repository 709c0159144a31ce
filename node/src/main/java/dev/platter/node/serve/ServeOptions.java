package dev.platter.node.serve;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What is served, how and to whom.
 *
 * @param sources paths, which begin with a slash or a dot, and images
 * @param target the iSCSI name, which the serial numbers of the disks follow from
 * @param open whether everybody may use the disks who reaches the address
 * @param workDirectory where there is room for what is written
 * @param state where images are kept; without it they are forgotten at the end
 * @param registry of images that name none
 */
public record ServeOptions(
    List<String> sources,
    Protocol protocol,
    InetSocketAddress listen,
    Optional<InetSocketAddress> health,
    String target,
    Optional<Chap> chap,
    boolean open,
    Path workDirectory,
    Optional<Path> state,
    Optional<String> registry) {

  /** How disks reach their users. */
  public enum Protocol {
    ISCSI(3260),
    NBD(10809);

    private final int port;

    Protocol(int port) {
      this.port = port;
    }

    /** Where it is usually served. */
    public int port() {
      return port;
    }
  }

  public ServeOptions {
    sources = List.copyOf(sources);
    if (protocol == Protocol.NBD && chap.isPresent()) {
      throw PlatterException.of(
          Code.INVALID,
          "NBD has no logins, and " + Chap.USER + " is set",
          "Serve by iSCSI, or unset the variables of CHAP.");
    }
    requireResolved(listen);
    health.ifPresent(ServeOptions::requireResolved);
    if (chap.isEmpty() && !open && !listen.getAddress().isLoopbackAddress()) {
      throw PlatterException.of(
          Code.INVALID,
          "everybody who reaches port " + listen.getPort() + " could use the disks",
          (protocol == Protocol.ISCSI
                  ? "Set " + Chap.USER + " and " + Chap.SECRET + ", listen"
                  : "Listen")
              + " at an address of this machine alone (--listen 127.0.0.1:"
              + listen.getPort()
              + "), or say --open if that is meant.");
    }
  }

  private static void requireResolved(InetSocketAddress address) {
    if (address.isUnresolved()) {
      throw PlatterException.of(
          Code.INVALID, "there is no address " + address.getHostString(), "Write [HOST:]PORT.");
    }
  }

  static boolean isPath(String source) {
    return source.startsWith("/") || source.startsWith(".");
  }
}
