package dev.platter.node.network;

import dev.platter.block.nbd.NbdClient;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A disk on the network, open for reading. QEMU's own qemu-nbd opens it, so there is one way for
 * all protocols, the same that guests will go, and serves it on a socket that only we can reach.
 *
 * <p>qemu-nbd never stays behind: we end it on close, the kernel kills it when we die, and it ends
 * by itself when its last client is gone, since one connection is held until the end. Only its
 * directory, with a socket that nobody serves, is left when we are killed; the next disk that is
 * opened next to it removes that.
 */
public final class RemoteDisk implements OpenDisk {
  public static final Duration START_LIMIT = Duration.ofSeconds(30);

  private static final int MOST_CLIENTS = 8;
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Duration POLL = Duration.ofMillis(2);

  /** Between cutting a client off and the end of the process. */
  private static final Duration TO_SAY_WHY = Duration.ofSeconds(1);

  private final Child server;
  private final SocketDirectory directory;
  private final NbdClient held;
  private final Duration limit;

  private RemoteDisk(Child server, SocketDirectory directory, NbdClient held, Duration limit) {
    this.server = server;
    this.directory = directory;
    this.held = held;
    this.limit = limit;
  }

  /** With the usual limit on the time it takes. */
  public static RemoteDisk open(Target target, Path parent) throws IOException {
    return open(target, parent, START_LIMIT);
  }

  /**
   * @param parent the directory in which one for the socket is made
   * @param limit how long it may take until the disk can be read
   * @throws IOException with what QEMU says, if it cannot open the disk
   * @throws ClosedByInterruptException if the thread is interrupted
   */
  public static RemoteDisk open(Target target, Path parent, Duration limit) throws IOException {
    SocketDirectory directory = SocketDirectory.make(parent);
    Child server = null;
    try {
      var credentials = new SecretArguments(target.secrets());
      server = Child.start(command(target, directory, credentials), credentials.input());
      NbdClient held = connect(server, directory, target, limit);
      return new RemoteDisk(server, directory, held, limit);
    } catch (Throwable e) {
      end(server, directory);
      throw e;
    }
  }

  private static List<String> command(
      Target target, SocketDirectory directory, SecretArguments credentials) {
    List<String> command = new ArrayList<>(List.of("qemu-nbd", "--read-only"));
    command.add("--shared=" + MOST_CLIENTS);
    command.add("--socket=" + directory.socket());
    command.addAll(credentials.arguments());
    target.objects().forEach(object -> command.addAll(List.of("--object", object)));
    command.add(target.file());
    return command;
  }

  /**
   * QEMU makes its socket, listens on it an instant later, and then opens the disk. Clients wait
   * meanwhile, and are cut off if that fails.
   */
  private static NbdClient connect(
      Child server, SocketDirectory directory, Target target, Duration limit) throws IOException {
    long end = System.nanoTime() + limit.toNanos();
    try {
      while (server.isAlive() && System.nanoTime() < end) {
        if (Files.exists(directory.socket())) {
          try {
            return connect(directory, Duration.ofNanos(Math.max(1, end - System.nanoTime())));
          } catch (ConnectException e) {
            // Not yet.
          } catch (ClosedByInterruptException e) {
            throw e;
          } catch (IOException e) {
            boolean _ = server.awaitEnd(TO_SAY_WHY);
            throw failure(server, target, limit, e);
          }
        }
        Thread.sleep(POLL);
      }
      throw failure(server, target, limit, null);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    }
  }

  private static IOException failure(
      Child server, Target target, Duration limit, @Nullable IOException cause)
      throws InterruptedException {
    boolean ended = !server.isAlive();
    server.end();
    String said = target.said(server.output());
    String what =
        ended
            ? "cannot open the network disk"
            : "the network disk did not answer within " + limit.toSeconds() + " s";
    return new IOException(said.isEmpty() ? what : what + ": " + said, cause);
  }

  private static NbdClient connect(SocketDirectory directory, Duration limit) throws IOException {
    var address = UnixDomainSocketAddress.of(directory.socket());
    return NbdClient.connect(address, "", limit, PATIENCE);
  }

  @Override
  public long size() {
    return held.size();
  }

  /** One more connection, of at most seven at a time. */
  @Override
  public NbdClient connect() throws IOException {
    return connect(directory, limit);
  }

  /** Ceph does as much for a small read as for a large one. */
  @Override
  public int request() {
    return 1 << 20;
  }

  /** Its end takes time, too. */
  @Override
  public void finished() {
    server.askToEnd();
  }

  long pid() {
    return server.pid();
  }

  /** Connections that are still open break. */
  @Override
  public void close() throws IOException {
    try (held) {
      end(server, directory);
    }
  }

  private static void end(@Nullable Child server, SocketDirectory directory) throws IOException {
    if (server != null) {
      server.end();
    }
    directory.delete();
  }
}
