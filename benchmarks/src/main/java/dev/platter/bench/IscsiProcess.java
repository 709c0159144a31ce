package dev.platter.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** An iSCSI target under test, with one file as its LUN 1, and the CPU time it uses. */
final class IscsiProcess implements AutoCloseable {
  private static final String NAME = "iqn.2024-01.dev.platter:bench";

  private final Process process;
  private final Path file;
  private final int port;

  private IscsiProcess(Path file, int port, ProcessBuilder builder) throws IOException {
    this.file = file;
    this.port = port;
    this.process =
        builder
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
  }

  static IscsiProcess ours(Path file) throws IOException, InterruptedException {
    var port = freePort();
    var command =
        List.of(
            ProcessHandle.current().info().command().orElse("java"),
            "-XX:+UseSerialGC",
            "-Xmx64m",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            IscsiServe.class.getName(),
            file.toString(),
            Integer.toString(port),
            NAME);
    return new IscsiProcess(file, port, new ProcessBuilder(command)).ready(List.of());
  }

  static IscsiProcess tgtd(Path file, Path work) throws IOException, InterruptedException {
    var port = freePort();
    var socket = work.resolve("tgtd").toString();
    var builder = new ProcessBuilder("tgtd", "-f", "--iscsi", "portal=127.0.0.1:" + port);
    builder.environment().put("TGT_IPC_SOCKET", socket);
    var settings =
        List.of(
            List.of("--mode", "target", "--op", "new", "--tid", "1", "--targetname", NAME),
            List.of(
                "--mode",
                "logicalunit",
                "--op",
                "new",
                "--tid",
                "1",
                "--lun",
                "1",
                "-b",
                "" + file),
            List.of("--mode", "target", "--op", "bind", "--tid", "1", "-I", "ALL"));
    var commands = new ArrayList<List<String>>();
    for (var setting : settings) {
      var command =
          new ArrayList<>(List.of("env", "TGT_IPC_SOCKET=" + socket, "tgtadm", "--lld", "iscsi"));
      command.addAll(setting);
      commands.add(command);
    }
    return new IscsiProcess(file, port, builder).ready(commands);
  }

  static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** Waits until it answers, and tells it what it needs to know. */
  private IscsiProcess ready(List<List<String>> settings) throws IOException, InterruptedException {
    try {
      for (var setting : settings) {
        patiently(setting);
      }
      patiently(List.of("iscsi-readcapacity16", url()));
      return this;
    } catch (Throwable e) {
      close();
      throw e;
    }
  }

  private void patiently(List<String> command) throws IOException, InterruptedException {
    for (int tries = 0; ; tries++) {
      try {
        Tool.time(command.toArray(String[]::new));
        return;
      } catch (IOException e) {
        if (tries == 100 || !process.isAlive()) {
          throw e;
        }
        Thread.sleep(100);
      }
    }
  }

  Path file() {
    return file;
  }

  String url() {
    return "iscsi://127.0.0.1:" + port + "/" + NAME + "/1";
  }

  /** Since its start, in steps of 10 ms, which is how the kernel counts it. */
  double cpuMillis() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO).toMillis();
  }

  @Override
  public void close() {
    process.destroyForcibly(); // tgtd does not end while it has targets
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
