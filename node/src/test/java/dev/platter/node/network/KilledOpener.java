package dev.platter.node.network;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A process of its own that opens a network disk and is killed by SIGKILL while it has it. */
final class KilledOpener {
  private KilledOpener() {}

  /**
   * Kills it when the disk is open, or when QEMU has come to the listener.
   *
   * @return the qemu-nbd that it had started
   */
  static ProcessHandle run(Target target, Path sockets, Optional<ServerSocketChannel> listener)
      throws Exception {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process process =
        new ProcessBuilder(
                java,
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                KilledOpener.class.getName(),
                target.driverJson(),
                sockets.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader out = process.inputReader()) {
      if (listener.isPresent()) {
        listener.get().accept().close();
      } else if (!"open".equals(out.readLine())) {
        throw new AssertionError("it did not open the disk");
      }
      ProcessHandle server =
          process
              .children()
              .filter(child -> child.info().command().orElse("").endsWith("qemu-nbd"))
              .findFirst()
              .orElseThrow();
      process.destroyForcibly().waitFor();
      return server;
    }
  }

  public static void main(String[] args) throws IOException, InterruptedException {
    var target = new Target(args[0], List.of());
    try (var disk = RemoteDisk.open(target, Path.of(args[1]), Duration.ofMinutes(1))) {
      System.out.println("open");
      Thread.sleep(Duration.ofMinutes(1));
      throw new AssertionError("nobody killed us: " + disk.size());
    }
  }
}
