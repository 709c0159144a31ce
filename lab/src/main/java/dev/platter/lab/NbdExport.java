package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A file offered over NBD, read-write, by a server that is not ours: nbdkit or qemu-nbd. Neither
 * minds several writers.
 */
public final class NbdExport implements AutoCloseable {
  private final Path log;
  private final Address address;
  private final String name;
  private final List<String> command;
  private Daemon server;

  private NbdExport(Path log, Address address, String name, Stream<?> command) {
    this.log = log;
    this.address = address;
    this.name = name;
    this.command = command.map(String::valueOf).toList();
    server = serve();
  }

  /** Where a server is found, the same after a restart. */
  public sealed interface Address {
    /** A socket in the file system. */
    record Unix(Path socket) implements Address {}

    /** A port of an address of this machine. */
    record Tcp(String host, int port) implements Address {}

    /** TLS is a must, and so is a client's certificate. */
    record Tls(int port, Certificates certificates) implements Address {}

    /** A new socket in a directory, whose name must not be long. */
    static Address unix(Path directory) {
      try {
        return new Unix(Files.createTempDirectory(directory, "nbd").resolve("s"));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    static Address tcp() {
      return tcp(Loopback.HOST);
    }

    /** At another address of this machine, such as the one that a cluster's nodes reach. */
    static Address tcp(String host) {
      return new Tcp(host, Loopback.freePort(host));
    }

    static Address tls(Certificates certificates) {
      return new Tls(Loopback.freePort(), certificates);
    }
  }

  /**
   * A raw file; every export name leads to it. The log is written beside it. With several threads
   * nbdkit 1.32 may abort when a client is killed that it is sending to.
   */
  public static NbdExport nbdkit(Path raw, Address address) {
    Stream<?> where =
        switch (address) {
          case Address.Unix(Path socket) -> Stream.of("-U", socket);
          case Address.Tcp(String host, int port) -> Stream.of("-i", host, "-p", port);
          case Address.Tls(int port, Certificates certificates) ->
              Stream.of(
                  "-i",
                  Loopback.HOST,
                  "-p",
                  port,
                  "--tls=require",
                  "--tls-verify-peer",
                  "--tls-certificates=" + certificates.server());
        };
    return new NbdExport(
        log(raw), address, "", join(Stream.of("nbdkit", "-f", "-t", 1), where, "file", raw));
  }

  /** An image in any format that QEMU knows, under this export name only. */
  public static NbdExport qemuNbd(Path image, String format, String name, Address address) {
    Stream<?> where =
        switch (address) {
          case Address.Unix(Path socket) -> Stream.of("-k", socket);
          case Address.Tcp(String host, int port) -> Stream.of("-b", host, "-p", port);
          case Address.Tls(int port, Certificates certificates) ->
              Stream.of(
                  "-b",
                  Loopback.HOST,
                  "-p",
                  port,
                  "--tls-creds=tls",
                  "--object=tls-creds-x509,id=tls,endpoint=server,verify-peer=yes,dir="
                      + certificates.server());
        };
    Stream<?> server = Stream.of("qemu-nbd", "--persistent", "-e", 8, "-x", name);
    return new NbdExport(log(image), address, name, join(server, where, "-f", format, image));
  }

  private static Path log(Path file) {
    return file.resolveSibling(file.getFileName() + ".nbd.log");
  }

  private static Stream<?> join(Stream<?> server, Stream<?> where, Object... what) {
    return Stream.of(server, where, Stream.of(what)).flatMap(words -> words);
  }

  private Daemon serve() {
    if (address instanceof Address.Unix(Path socket)) {
      try {
        // A server that was killed leaves its socket behind, and the next one would not take it.
        Files.deleteIfExists(socket);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return Daemon.start(log, command.toArray()).await(this::listens);
  }

  private boolean listens() {
    return switch (address) {
      case Address.Unix(Path socket) -> Loopback.listens(socket);
      case Address.Tcp(String host, int port) -> Loopback.listens(host, port);
      case Address.Tls(int port, _) -> Loopback.listens(Loopback.HOST, port);
    };
  }

  public Address address() {
    return address;
  }

  /** The export's name; empty with nbdkit. */
  public String name() {
    return name;
  }

  /** As libnbd reads it; QEMU does too, but for TLS. */
  public String uri() {
    return switch (address) {
      case Address.Unix(Path socket) -> "nbd+unix:///%s?socket=%s".formatted(name, socket);
      case Address.Tcp(String host, int port) -> "nbd://%s:%d/%s".formatted(host, port, name);
      case Address.Tls(int port, Certificates certificates) ->
          "nbds://%s:%d/%s?tls-certificates=%s"
              .formatted(Loopback.HOST, port, name, certificates.client());
    };
  }

  /** Ends the server without a warning; the file stays. */
  public void stop() {
    server.kill();
  }

  /** The same export at the same address again. */
  public void restart() {
    stop();
    server = serve();
  }

  @Override
  public void close() {
    stop();
  }
}
