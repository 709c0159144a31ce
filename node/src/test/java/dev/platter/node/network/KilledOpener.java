package dev.platter.node.network;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A process of its own that opens a network disk, or copies one, and is killed by SIGKILL while it
 * does.
 */
final class KilledOpener {
  private KilledOpener() {}

  /**
   * Kills it when the disk is open, or else when QEMU has come to a listener that stays silent, and
   * returns when its qemu-nbd is gone as well.
   */
  static void run(Target target, Path sockets, @Nullable ServerSocketChannel listener)
      throws Exception {
    run("qemu-nbd", target, sockets, listener);
  }

  /** Kills it while qemu-img copies the disk to a file, and returns when that is gone as well. */
  static void runCopy(Target target, Path file) throws Exception {
    run("qemu-img", target, file, null);
  }

  private static void run(
      String program, Target target, Path place, @Nullable ServerSocketChannel listener)
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
                program,
                target.driverJson(),
                place.toString())
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
              .filter(child -> child.info().command().orElse("").endsWith(program))
              .findFirst()
              .orElseThrow();
      process.destroyForcibly().waitFor();
      server.onExit().get();
    }
  }

  public static void main(String[] args) throws IOException, InterruptedException {
    var target = new Target(args[1], List.of());
    var place = Path.of(args[2]);
    if (args[0].equals("qemu-img")) {
      try (var copy = RemoteCopy.begin(target, place)) {
        System.out.println("open");
        throw new AssertionError("nobody killed us: " + copy.finish(0, (_, _) -> {}));
      }
    }
    try (var disk = RemoteDisk.open(target, place, Duration.ofMinutes(1))) {
      System.out.println("open");
      Thread.sleep(Duration.ofMinutes(1));
      throw new AssertionError("nobody killed us: " + disk.size());
    }
  }
}
