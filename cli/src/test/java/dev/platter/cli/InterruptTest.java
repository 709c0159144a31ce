package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ctrl-C in the middle of a pull, sent to a real process. */
class InterruptTest {
  @TempDir Path work;

  @Test
  void ctrlCDuringAPullLeavesNothingHalfDone() throws Exception {
    var reached = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    serve(server, reached, release);
    server.start();
    try {
      var manifest = work.resolve("vm.yaml");
      Files.writeString(
          manifest,
          "disks:\n- {source: {blank: {}}, size: 1Mi}\n- {source: {image: '127.0.0.1:%d/slow:1'}}\n"
              .formatted(server.getAddress().getPort()));
      var process = platter("run", manifest.toString(), "--state", work.resolve("s").toString());
      assertThat(reached.await(60, TimeUnit.SECONDS)).as("the pull has begun").isTrue();
      new ProcessBuilder("sh", "-c", "kill -INT " + process.pid()).start().waitFor();
      assertThat(process.waitFor(30, TimeUnit.SECONDS)).as("it ends").isTrue();
      assertThat(process.exitValue()).isNotZero();
      assertThat(left(work.resolve("s/vms"))).isEmpty();
      assertThat(left(work.resolve("s/pools/default"))).isEmpty();
      assertThat(work.resolve("s/images/spool")).doesNotExist();
      assertThat(left(work.resolve("s/run/vms"))).isEmpty();
    } finally {
      release.countDown();
      server.stop(0);
      endDaemon(work.resolve("s"));
      new dev.platter.node.libvirt.PrivateLibvirt(
              work.resolve("s/libvirt"), work.resolve("s/run/libvirt"))
          .stop();
    }
  }

  /** The command has started it; it would end by itself some time after the test. */
  private static void endDaemon(Path state) throws Exception {
    var daemons =
        ProcessHandle.allProcesses()
            .filter(process -> process.info().command().orElse("").endsWith("java"))
            .filter(
                process ->
                    process.info().arguments().map(Arrays::asList).orElse(List.of()).stream()
                        .anyMatch(state.toString()::equals))
            .toList();
    for (var daemon : daemons) {
      daemon.destroy();
      daemon.onExit().get(30, TimeUnit.SECONDS);
    }
  }

  private static Process platter(String... args) throws IOException {
    var command =
        new java.util.ArrayList<>(
            List.of(
                // Whoever runs the tests in the background may ignore the signal, and children
                // inherit that.
                "env",
                "--default-signal=INT",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
    command.addAll(List.of(args));
    return new ProcessBuilder(command).inheritIO().start();
  }

  /** A registry whose layer stops in the middle. */
  private static void serve(HttpServer server, CountDownLatch reached, CountDownLatch release) {
    var layerDigest = "sha256:" + "ab".repeat(32);
    var config =
        "{\"architecture\":\"amd64\",\"os\":\"linux\",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\""
            + layerDigest
            + "\"]}}";
    var manifest =
        """
        {"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
        "config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"%s","size":%d},
        "layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"%s","size":10000000}]}
        """
            .formatted(digest(config), config.length(), layerDigest);
    server.createContext(
        "/",
        exchange -> {
          var path = exchange.getRequestURI().getPath();
          var body =
              path.contains("/manifests/") ? manifest : path.endsWith(digest(config)) ? config : "";
          if (!body.isEmpty() || path.equals("/v2/")) {
            exchange
                .getResponseHeaders()
                .add("Content-Type", "application/vnd.oci.image.manifest.v1+json");
            exchange.sendResponseHeaders(200, body.isEmpty() ? -1 : body.length());
            exchange.getResponseBody().write(body.getBytes(StandardCharsets.UTF_8));
            exchange.close();
            return;
          }
          exchange.sendResponseHeaders(200, 10_000_000);
          exchange.getResponseBody().write(new byte[512]);
          exchange.getResponseBody().flush();
          reached.countDown();
          try {
            release.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          exchange.close();
        });
  }

  private static String digest(String text) {
    try {
      return "sha256:"
          + HexFormat.of()
              .formatHex(
                  MessageDigest.getInstance("SHA-256")
                      .digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (java.security.NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  private static List<Path> left(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return List.of();
    }
    try (var files = Files.list(directory)) {
      return files.toList();
    }
  }
}
