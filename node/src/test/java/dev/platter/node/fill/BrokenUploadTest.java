package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.platter.image.Digest;
import dev.platter.image.fill.Fill;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.node.FillTarget;
import dev.platter.node.Progress;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections break, or are lost without a word, and the disk comes all the same. */
class BrokenUploadTest extends UploadScene {
  @Test
  void aBrokenUploadIsGoneOnWithAndOnlyOneMaySend() throws Exception {
    var bytes = Files.readAllBytes(qcow2);
    var first = Arrays.copyOf(bytes, 1 << 20);
    try (var server = serve()) {
      try (var socket = put(server, bytes.length, first)) {
        await().until(() -> offset(server) == 1 << 20);
        assertThat(isHalf()).isTrue();
        assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("503 ").contains("Busy");
        assertThat(socket.isConnected()).isTrue();
      }
      await().until(() -> !curl("-C", "5000", "-T", qcow2, url(server, "/disk")).startsWith("503"));
      assertThat(curl("-C", "5000", "-T", qcow2, url(server, "/disk")))
          .startsWith("409 ")
          .contains("go on at byte 1048576");
      assertThat(isHalf()).isTrue();
      assertThat(curl("-C", "1048576", "-T", qcow2, url(server, "/disk"))).startsWith("201 ");
      assertIsThere();
    }
  }

  @Test
  void aClientThatSendsNothingIsCutOff() throws Exception {
    var bytes = Files.readAllBytes(qcow2);
    try (var server = serve(volume, 0, Duration.ofMillis(400));
        var socket = put(server, bytes.length, Arrays.copyOf(bytes, 100_000))) {
      socket.setSoTimeout(20_000);
      assertThat(socket.getInputStream().readAllBytes()).isEmpty();
      assertThat(offset(server)).isEqualTo(100_000);
      assertThat(curl("-C", "100000", "-T", qcow2, url(server, "/disk"))).startsWith("201 ");
      assertIsThere();
    }
  }

  /** To a server; of the first connection the end is lost, and nobody says so. */
  private static ServerSocket losingTunnel(UploadServer server, int kept) throws IOException {
    return tunnel(server, kept, new AtomicInteger());
  }

  private static ServerSocket tunnel(UploadServer server, int kept, AtomicInteger connections)
      throws IOException {
    var tunnel = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                for (var left = kept; ; left = Integer.MAX_VALUE) {
                  var from = tunnel.accept();
                  connections.incrementAndGet();
                  var to = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort());
                  var most = left;
                  Thread.ofVirtual().start(() -> pipe(from, to, most));
                  Thread.ofVirtual().start(() -> pipe(to, from, Integer.MAX_VALUE));
                }
              } catch (IOException e) {
                // It was closed.
              }
            });
    return tunnel;
  }

  private static void pipe(Socket from, Socket to, int most) {
    try (from;
        to) {
      var buffer = new byte[4096];
      var left = most;
      for (var n = 0; (n = from.getInputStream().read(buffer)) >= 0; ) {
        to.getOutputStream().write(buffer, 0, Math.min(n, left));
        left -= Math.min(n, left);
      }
    } catch (IOException e) {
      // The other end was closed.
    }
  }

  /** The server itself would give the connection up, but much later. */
  @Test
  @Timeout(60)
  void ourClientLeavesATunnelThatLostTheEndAndGoesOnByAnother() throws Exception {
    try (var server = serve(volume, 0, Duration.ofMinutes(9));
        var tunnel = losingTunnel(server, 2 << 20)) {
      var url = URI.create("http://127.0.0.1:" + tunnel.getLocalPort() + "/disk");
      var done =
          new DiskUpload(
                  qcow2, url, Optional.of(TOKEN), 3, Duration.ofMillis(50), Duration.ofSeconds(1))
              .run(Progress.NONE);
      assertThat(done.sent()).as("of the second time").isLessThan(2 << 20);
      assertIsThere();
    }
  }

  /** As a device that is sent zeros first. */
  private record Slow(FillTarget target, CountDownLatch blank) implements FillTarget {
    @Override
    public Optional<FillRecord> held(String source, Optional<Digest> digest) throws IOException {
      return target.held(source, digest);
    }

    @Override
    public void begin(String source) throws IOException {
      target.begin(source);
    }

    @Override
    public Fill open(@Nullable Format format, Optional<Digest> expected, LongConsumer progress)
        throws IOException {
      try {
        blank.await();
      } catch (InterruptedException e) {
        throw new InterruptedIOException();
      }
      return target.open(format, expected, progress);
    }

    @Override
    public void complete(Filled filled) throws IOException {
      target.complete(filled);
    }

    @Override
    public void close() throws IOException {
      target.close();
    }
  }

  /** Until nobody reads. */
  private static void sendAndGo(UploadServer server, byte[] bytes) throws IOException {
    try (var socket = put(server, bytes.length, new byte[0])) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  socket.getOutputStream().write(bytes);
                } catch (IOException e) {
                  // It was closed.
                }
              });
      await()
          .until(
              () ->
                  Shell.run("curl", "-sI", "-H", "Authorization: Bearer " + TOKEN, url(server, "/"))
                      .contains("Upload-Busy: ?1"));
    }
  }

  /** Neither by who sends, nor by who comes when that one has gone. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Timeout(60)
  void aServerThatIsBusyItselfIsWaitedFor(boolean another) throws Exception {
    var bytes = Files.readAllBytes(raw); // Longer than what it takes before it is blank.
    var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
    var target =
        new Slow(FillTarget.of(layout, volume, null, 0, false, false), new CountDownLatch(1));
    var options =
        new UploadServer.Options(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            layout,
            volume,
            0,
            false,
            null,
            Optional.of(TOKEN),
            Duration.ofMinutes(9));
    var connections = new AtomicInteger();
    try (var server = UploadServer.start(target, options, null, _ -> false);
        var tunnel = tunnel(server, Integer.MAX_VALUE, connections)) {
      if (another) {
        sendAndGo(server, bytes);
      }
      var url = URI.create("http://127.0.0.1:" + tunnel.getLocalPort() + "/disk");
      var upload =
          new DiskUpload(
              raw, url, Optional.of(TOKEN), 1, Duration.ofMillis(50), Duration.ofMillis(100));
      var done =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return upload.run(Progress.NONE);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      await().until(() -> connections.get() > 12 || done.isDone());
      target.blank.countDown();
      assertThat(done.join().digest()).isEqualTo(Digest.of(bytes).toString());
      assertIsThere();
    }
  }

  @Test
  void ourClientGoesOnWhereAnotherStopped() throws Exception {
    var bytes = Files.readAllBytes(qcow2);
    try (var server = serve()) {
      // Holds the server busy until it is gone; the client waits, asks, and goes on.
      try (var _ = put(server, bytes.length, Arrays.copyOf(bytes, 1 << 20))) {
        await().until(() -> offset(server) == 1 << 20);
        assertThatThrownBy(() -> upload(server, qcow2)).hasMessageContaining("somebody else");
      }
      assertThat(upload(server, qcow2).format()).isEqualTo("qcow2");
      assertIsThere();
    }
  }

  /** As behind a tunnel that has lost the connection, of which nobody tells the server. */
  @Test
  @Timeout(60)
  void whoIsSilentMakesRoomForTheNextThoughTheConnectionIsOpen() throws Exception {
    var bytes = Files.readAllBytes(qcow2);
    try (var server = serve(volume, 0, Duration.ofMinutes(9));
        var silent = put(server, bytes.length, Arrays.copyOf(bytes, 1 << 20))) {
      await().until(() -> offset(server) == 1 << 20);
      var done =
          new DiskUpload(
                  qcow2,
                  URI.create(url(server, "/disk")),
                  Optional.of(TOKEN),
                  100,
                  Duration.ofMillis(100))
              .run(Progress.NONE);
      assertThat(done.sent()).as("of the second time").isEqualTo(bytes.length - (1 << 20));
      silent.setSoTimeout(20_000);
      assertThat(silent.getInputStream().read()).as("the end of the first").isEqualTo(-1);
      assertIsThere();
    }
  }
}
