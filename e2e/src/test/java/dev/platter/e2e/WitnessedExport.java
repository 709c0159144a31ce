package dev.platter.e2e;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * A disk at an NBD server that lets everybody write, and notes down who did. A client that writes
 * after another one began to is a second writer.
 */
final class WitnessedExport implements AutoCloseable {
  private static final Pattern WRITE = Pattern.compile(" connection=(\\d+) (?:Write|Zero|Trim) ");

  private final Path disk;
  private final Path log;
  private final String address;
  private final int port;
  private final Process server;

  private WitnessedExport(Path disk, Path log, String address, int port, Process server) {
    this.disk = disk;
    this.log = log;
    this.address = address;
    this.port = port;
    this.server = server;
  }

  /** Makes the disk, and serves it at a free port of the address. */
  static WitnessedExport start(Path disk, String size, String address) {
    Shell.run("truncate", "-s", size, disk);
    var log = disk.resolveSibling(disk.getFileName() + ".log");
    try (var free = new ServerSocket(0, 1, InetAddress.getByName(address))) {
      var port = free.getLocalPort();
      free.close();
      var server =
          new ProcessBuilder(
                  "nbdkit",
                  "--foreground",
                  "--exit-with-parent",
                  "--threads=1", // or it may abort when a QEMU is killed that it is sending to
                  "--ipaddr=" + address,
                  "--port=" + port,
                  "--filter=log",
                  "file",
                  disk.toString(),
                  "logfile=" + log)
              .inheritIO()
              .start();
      var export = new WitnessedExport(disk, log, address, port, server);
      export.awaitListening();
      return export;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void awaitListening() throws IOException {
    while (server.isAlive()) {
      try (var socket = new Socket(address, port)) {
        return;
      } catch (ConnectException e) {
        Thread.onSpinWait();
      }
    }
    throw new AssertionError("nbdkit has ended");
  }

  String address() {
    return address;
  }

  int port() {
    return port;
  }

  Path disk() {
    return disk;
  }

  /** The connections that wrote, in order; one that wrote, and again after others did, is twice. */
  List<Integer> writers() {
    var out = new ArrayList<Integer>();
    try (var lines = Files.lines(log)) {
      lines.forEach(
          line -> {
            var write = WRITE.matcher(line);
            if (write.find()) {
              var connection = Integer.valueOf(write.group(1));
              if (out.isEmpty() || !out.getLast().equals(connection)) {
                out.add(connection);
              }
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out;
  }

  /** What is wrong; empty if there was one writer at a time. */
  List<String> faults() {
    var writers = writers();
    return writers.stream().distinct().count() == writers.size()
        ? List.of()
        : List.of("%s: two writers: connections %s".formatted(disk.getFileName(), writers));
  }

  @Override
  public void close() {
    server.destroyForcibly();
  }
}
