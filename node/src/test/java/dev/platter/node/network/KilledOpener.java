package dev.platter.node.network;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A process of its own that opens a network disk and is killed by SIGKILL while it has it. */
final class KilledOpener {
  private KilledOpener() {}

  /**
   * Kills it when the disk is open, or else when QEMU has come to a listener that stays silent, and
   * returns when its qemu-nbd is gone as well.
   */
  static void run(Target target, Path sockets, @Nullable ServerSocketChannel listener)
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
    try (BufferedReader out = process.inputReader();
        @Nullable SocketChannel qemu = listener == null ? null : listener.accept()) {
      if (qemu == null && !"open".equals(out.readLine())) {
        throw new AssertionError("it did not open the disk");
      }
      ProcessHandle server =
          process
              .children()
              .filter(child -> child.info().command().orElse("").endsWith("qemu-nbd"))
              .findFirst()
              .orElseThrow();
      process.destroyForcibly().waitFor();
      server.onExit().get();
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
