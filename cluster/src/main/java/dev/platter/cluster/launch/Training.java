package dev.platter.cluster.launch;

import dev.platter.cluster.launch.Frame.Kind;
import java.io.IOException;
import java.io.OutputStream;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;

/**
 * Does what a launcher does, once, while the JVM records which classes that takes: they are in the
 * AOT cache of the container image then.
 */
public final class Training {
  private Training() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    var directory = Files.createTempDirectory("launch");
    var socket = directory.resolve("vm.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      var daemon = Thread.ofPlatform().start(() -> serve(server));
      new Launcher(socket, OutputStream.nullOutputStream()).run();
      daemon.join();
    } finally {
      Files.deleteIfExists(socket);
      Files.deleteIfExists(directory);
    }
  }

  private static void serve(ServerSocketChannel server) {
    try (var launcher = server.accept()) {
      Frame.read(launcher);
      Frame.of(Kind.CONSOLE, "console").write(launcher);
      Frame.of(Kind.NOTE, "note").write(launcher);
      Frame.exit(0, "").write(launcher);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
