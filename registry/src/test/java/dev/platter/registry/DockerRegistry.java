package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A real registry on a free port of this machine, with its data in a directory of the test. */
final class DockerRegistry implements Closeable {
  private final Path directory;
  private final String extra;
  private final int port;
  private Process process;

  /** {@code extra} is more of the configuration file. */
  DockerRegistry(Path directory, String extra) throws IOException {
    this(directory, extra, "");
  }

  /** {@code http} is more of its part on HTTP. */
  DockerRegistry(Path directory, String extra, String http) throws IOException {
    this.directory = directory;
    this.extra = extra;
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    process = start(http);
  }

  /** Ends it and starts it again at the same port, with what it has. */
  void restart(String http) throws IOException {
    close();
    process = start(http);
  }

  private Process start(String http) throws IOException {
    Path config = directory.resolve("registry.yml");
    Files.writeString(
        config,
        """
        version: 0.1
        log: {level: error, accesslog: {disabled: true}}
        storage: {filesystem: {rootdirectory: %s}}
        http: {addr: "127.0.0.1:%d"%s}
        %s
        """
            .formatted(directory.resolve("registry"), port, http, extra));
    Process process =
        new ProcessBuilder("docker-registry", "serve", config.toString())
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("registry.log").toFile())
            .start();
    awaitPort(process, directory.resolve("registry.log"));
    return process;
  }

  private void awaitPort(Process process, Path log) throws IOException {
    for (long end = System.nanoTime() + Duration.ofSeconds(20).toNanos(); ; ) {
      try {
        new Socket(InetAddress.getLoopbackAddress(), port).close();
        return;
      } catch (IOException e) {
        if (System.nanoTime() > end || !process.isAlive()) {
          process.destroyForcibly();
          throw new IOException("docker-registry did not start: " + Files.readString(log), e);
        }
        Thread.onSpinWait();
      }
    }
  }

  int port() {
    return port;
  }

  String host() {
    return "127.0.0.1:" + port;
  }

  static String sh(Path directory, String script) throws IOException {
    Process process =
        new ProcessBuilder("sh", "-euc", script)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    assertThat(process.exitValue()).as(output).isZero();
    return output;
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
