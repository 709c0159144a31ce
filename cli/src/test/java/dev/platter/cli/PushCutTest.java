package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A push in a process of its own that ends in the middle, and the one after it. */
class PushCutTest {
  private static final long CHUNK = 16 << 20;

  @AutoClose static final Registry registry = Registry.start();

  @TempDir Path work;
  private Path disk;
  private Path spool;

  @BeforeEach
  void makeADiskThatDoesNotShrink() throws IOException {
    var bytes = new byte[36 << 20];
    new Random(1).nextBytes(bytes);
    disk = Files.write(work.resolve("disk.raw"), bytes);
    spool = Files.createDirectory(work.resolve("spool"));
  }

  private Process push(String reference) throws IOException {
    return Platter.start(
        Map.of("XDG_CACHE_HOME", work.resolve("cache").toString()),
        work.resolve("log"),
        "push",
        disk,
        reference,
        "--work-dir",
        spool,
        "-o",
        "json");
  }

  private static List<Path> left(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.toList();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"INT", "KILL"})
  void thePushAfterACutOneSendsWhatIsMissing(String signal) throws Exception {
    try (var gate = new Gate(registry.address())) {
      var reference = gate.address() + "/cut/" + signal.toLowerCase(Locale.ROOT) + ":1";
      var first = push(reference);
      assertThat(gate.reached.await(120, TimeUnit.SECONDS)).as("the second chunk begins").isTrue();
      assertThat(left(spool)).as("the packed layer has no name").isEmpty();
      Shell.run("sh", "-c", "kill -" + signal + " " + first.pid());
      assertThat(first.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
      assertThat(first.exitValue()).isNotZero();
      assertThat(left(spool)).isEmpty();

      gate.open();
      var second = push(reference);
      assertThat(second.waitFor()).as(Files.readString(work.resolve("log"))).isZero();
      var pushed = new ObjectMapper().readTree(work.resolve("log").toFile());
      assertThat(pushed.get("sent").asLong()).isEqualTo(pushed.get("layerSize").asLong() - CHUNK);
      assertThat(left(work.resolve("cache/platter/uploads"))).isEmpty();
      Shell.run("skopeo", "inspect", "--tls-verify=false", "docker://" + reference);
    }
  }

  @Test
  void ctrlCWhilePackingLeavesNothing() throws Exception {
    var layout = work.resolve("layout");
    var process =
        Platter.start(
            Map.of(), work.resolve("log"), "push", disk, "oci:" + layout + ":1", "--threads", "1");
    var blobs = layout.resolve("blobs/sha256");
    while (process.isAlive() && (!Files.isDirectory(blobs) || left(blobs).isEmpty())) {
      Thread.sleep(5);
    }
    Shell.run("sh", "-c", "kill -INT " + process.pid());
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ends").isTrue();
    assertThat(process.exitValue()).isNotZero();
    assertThat(left(blobs)).isEmpty();
    assertThat(layout.resolve("index.json")).content().doesNotContain("ref.name");
  }

  @Test
  void pushAndPullUseTheSettingsOfThisUser() throws Exception {
    var settings = work.resolve("registries.conf");
    Files.writeString(
        settings,
        """
        [[registry]]
        prefix = "disks.example"
        location = "%s/elsewhere"
        insecure = true
        """
            .formatted(registry.address()));
    var environment = Map.of("CONTAINERS_REGISTRIES_CONF", settings.toString());
    Shell.run("truncate", "-s", "1M", disk);
    var push = Platter.start(environment, work.resolve("log"), "push", disk, "disks.example/vm:1");
    assertThat(push.waitFor()).as(Files.readString(work.resolve("log"))).isZero();
    Shell.run(
        "skopeo",
        "inspect",
        "--tls-verify=false",
        "docker://" + registry.address() + "/elsewhere/vm:1");
    var pull =
        Platter.start(
            environment,
            work.resolve("log"),
            "pull",
            "disks.example/vm:1",
            "--state",
            work.resolve("s"));
    assertThat(pull.waitFor()).as(Files.readString(work.resolve("log"))).isZero();
    assertThat(work.resolve("log")).content().contains("disks.example/vm:1 is sha256:");
  }

  /** Stands before a registry and lets nothing of a second chunk through until it is opened. */
  private static final class Gate implements AutoCloseable {
    final CountDownLatch reached = new CountDownLatch(1);
    private final AtomicInteger chunks = new AtomicInteger();
    private final ServerSocket server = new ServerSocket(0, 20, InetAddress.getLoopbackAddress());
    private final int port;
    private volatile boolean open;

    Gate(String registry) throws IOException {
      this.port = Integer.parseInt(registry.substring(registry.indexOf(':') + 1));
      Thread.startVirtualThread(this::accept);
    }

    String address() {
      return "127.0.0.1:" + server.getLocalPort();
    }

    void open() {
      open = true;
    }

    private void accept() {
      try {
        while (true) {
          var client = server.accept();
          var target = new Socket(InetAddress.getLoopbackAddress(), port);
          Thread.startVirtualThread(() -> pass(client, target, true));
          Thread.startVirtualThread(() -> pass(target, client, false));
        }
      } catch (IOException e) {
        // Closed.
      }
    }

    private void pass(Socket from, Socket to, boolean requests) {
      var buffer = new byte[64 << 10];
      try (from;
          to;
          InputStream in = from.getInputStream();
          OutputStream out = to.getOutputStream()) {
        for (int read; (read = in.read(buffer)) >= 0; ) {
          if (requests && !open && isSecondChunk(buffer, read)) {
            reached.countDown();
            in.transferTo(OutputStream.nullOutputStream());
            return;
          }
          out.write(buffer, 0, read);
        }
      } catch (IOException e) {
        // The other direction has closed both.
      }
    }

    /** A client that waits for an answer writes the next request by itself. */
    private boolean isSecondChunk(byte[] buffer, int length) {
      var start = new String(buffer, 0, Math.min(6, length), StandardCharsets.ISO_8859_1);
      return start.equals("PATCH ") && chunks.incrementAndGet() == 2;
    }

    @Override
    public void close() throws IOException {
      server.close();
    }
  }
}
