package dev.platter.block.nbd;

import java.io.IOException;
import java.net.ConnectException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** An NBD server that others wrote, on a unix socket, while a test needs it. */
final class ForeignServer implements AutoCloseable, DiskCopy.Source {
  final Path socket;
  private final Process process;
  private final Path log;

  private ForeignServer(Path socket, Path log, List<String> command) throws IOException {
    this.socket = socket;
    this.log = log;
    this.process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .redirectInput(Path.of("/dev/null").toFile())
            .start();
    while (!Files.exists(socket)) {
      if (!process.isAlive()) {
        throw new AssertionError(command + ": " + Files.readString(log));
      }
      Thread.onSpinWait();
    }
  }

  static ForeignServer nbdkit(Path directory, Object... arguments) throws IOException {
    Path socket = directory.resolve("nbdkit.sock");
    return start(directory, socket, List.of("nbdkit", "-f", "-U", socket), arguments);
  }

  static ForeignServer qemuNbd(Path directory, Object... arguments) throws IOException {
    Path socket = directory.resolve("qemu.sock");
    return start(directory, socket, List.of("qemu-nbd", "-t", "-r", "-k", socket), arguments);
  }

  private static ForeignServer start(
      Path directory, Path socket, List<Object> command, Object[] arguments) throws IOException {
    List<String> words = new ArrayList<>();
    command.forEach(word -> words.add(word.toString()));
    for (Object argument : arguments) {
      words.add(argument.toString());
    }
    return new ForeignServer(socket, directory.resolve("server.log"), words);
  }

  @Override
  public NbdClient connect() throws IOException {
    return connect("");
  }

  NbdClient connect(String export) throws IOException {
    var minute = Duration.ofMinutes(1);
    while (true) {
      try {
        return NbdClient.connect(UnixDomainSocketAddress.of(socket), export, minute, minute);
      } catch (ConnectException e) {
        // The socket is there for an instant before it is listened on.
        if (!process.isAlive()) {
          throw e;
        }
      }
    }
  }

  /** What it has said until now. */
  String log() throws IOException {
    return Files.readString(log);
  }

  void kill() {
    process.destroyForcibly();
  }

  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    Files.deleteIfExists(socket);
    Files.deleteIfExists(log);
  }
}
