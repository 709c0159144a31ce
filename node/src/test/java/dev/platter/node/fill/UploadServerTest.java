package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.node.Progress;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The client is curl. */
class UploadServerTest {
  private static final String TOKEN = "secret-token";

  @TempDir Path dir;
  private Path raw;
  private Path qcow2;
  private Path volume;

  @BeforeEach
  void makeDisks() throws IOException {
    raw = dir.resolve("disk.raw");
    qcow2 = dir.resolve("disk.qcow2");
    volume = Files.createDirectory(dir.resolve("volume"));
    Shell.run("sh", "-c", "head -c 3M /dev/urandom >%s; truncate -s 6M %1$s".formatted(raw));
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, qcow2);
  }

  private UploadServer serve(Path target, long size, Duration patience) throws IOException {
    return UploadServer.start(
        new UploadServer.Options(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            new StateLayout(dir.resolve("state"), dir.resolve("run")),
            target,
            size,
            false,
            (Format) null,
            Optional.of(TOKEN),
            patience));
  }

  private UploadServer serve() throws IOException {
    return serve(volume, 0, Duration.ofSeconds(30));
  }

  private static String url(UploadServer server, String path) {
    return "http://127.0.0.1:" + server.address().getPort() + path;
  }

  /** Status and body of an answer. */
  private String curl(Object... arguments) throws IOException {
    var body = dir.resolve("body");
    Files.deleteIfExists(body);
    var command =
        new ArrayList<Object>(
            List.of(
                "curl",
                "-s",
                "-m",
                "30",
                "-w",
                "%{http_code} ",
                "-o",
                body,
                "-H",
                "Authorization: Bearer " + TOKEN));
    command.addAll(List.of(arguments));
    return Shell.shell().execute(command.toArray()).out()
        + (Files.exists(body) ? Files.readString(body) : "");
  }

  private void assertIsThere() throws IOException {
    Shell.run("cmp", raw, volume.resolve("disk.img"));
    var record = FillRecord.parse(Files.readString(volume.resolve("disk.img.json"))).orElseThrow();
    assertThat(record.complete()).isTrue();
  }

  private boolean isHalf() throws IOException {
    var file = volume.resolve("disk.img.json");
    return Files.exists(file) && !FillRecord.parse(Files.readString(file)).orElseThrow().complete();
  }

  @Test
  void curlPutsADiskAndTheServerIsDone() throws Exception {
    try (var server = serve()) {
      assertThat(curl("-T", qcow2, url(server, "/"))).startsWith("201 ").contains("qcow2");
      assertThat("sha256:" + Shell.run("sha256sum", qcow2)).startsWith(server.await());
      assertIsThere();
      assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("409 ").contains("Complete");
      assertThat(curl("--data-binary", "@" + qcow2, url(server, "/v1beta1/upload")))
          .startsWith("409 ");
    }
    try (var again = serve()) {
      assertThat(again.await()).as("a pod that was started again").startsWith("sha256:");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1beta1/upload", "/v1alpha1/upload-async", "/v1beta1/upload-form"})
  void clientsOfCdiAreAnsweredAsCdiDoes(String path) throws Exception {
    try (var server = serve()) {
      assertThat(curl(url(server, "/healthz"))).startsWith("200 ");
      assertThat(curl("-I", url(server, "/v1beta1/upload-async"))).startsWith("200 ");
      assertThat(curl("-T", qcow2, url(server, path))).startsWith("404 ");
      assertThat(curl("--data-binary", "# Disk DescriptorFile", url(server, "/v1beta1/upload")))
          .startsWith("400 ")
          .contains("VMDK");
      var answer =
          path.contains("form")
              ? curl("-F", "other=x", "-F", "file=@" + qcow2, url(server, path))
              : curl("--data-binary", "@" + qcow2, url(server, path));
      assertThat(answer).startsWith("200 ");
      assertIsThere();
    }
  }

  @Test
  void nothingIsNoDisk() throws Exception {
    var empty = Files.createFile(dir.resolve("empty"));
    try (var server = serve()) {
      assertThat(curl("-T", empty, url(server, "/disk"))).startsWith("415 ").contains("0 bytes");
      assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("201 ");
    }
  }

  /** Who did not hear that all is there sends it again. */
  @Test
  void anAnswerThatIsLostCostsNothing() throws Exception {
    try (var server = serve()) {
      assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("201 ");
      var again = upload(server, qcow2);
      assertThat(again.digest()).isEqualTo(server.await());
      assertThat(again.format()).isEqualTo("qcow2");
      assertThatThrownBy(() -> upload(server, raw)).hasMessageContaining("is complete");
      assertIsThere();
    }
  }

  @Test
  void whoHasNoTokenIsTurnedAway() throws Exception {
    try (var server = serve()) {
      var other = Shell.shell().execute("curl", "-s", "-i", "-T", qcow2, url(server, "/disk"));
      assertThat(other.out()).contains("401 ").containsIgnoringCase("WWW-Authenticate: Bearer");
      assertThat(volume.resolve("disk.img.json")).doesNotExist();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Bearer",
        "Bearer ",
        "Bearer secret-toke",
        "Bearer secret-token2",
        "Bearer SECRET-TOKEN",
        "bearer secret-token",
        "Basic c2VjcmV0LXRva2VuOg==",
        "Bearer eyJhbGciOiJub25lIn0.eyJhdWQiOiJkaXNrIn0.",
        "<script>alert(1)</script>"
      })
  void anotherTokenIsNone(String header) throws Exception {
    try (var server = serve()) {
      var answer =
          Shell.run("curl", "-s", "-i", "-H", "Authorization: " + header, url(server, "/disk"));
      assertThat(answer).startsWith("HTTP/1.1 401 ").doesNotContain(TOKEN).doesNotContain("script");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PUT /disk HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "PUT /disk HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT /disk HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "PUT /disk HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "PUT /disk HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
        "PUT /disk HTTP/1.1\r\nAuthorization: a\r\n b\r\n\r\n",
        "PUT /%zz HTTP/1.1\r\n\r\n",
        "PUT\r\n\r\n",
        "LONG"
      })
  void whatCanBeReadInTwoWaysIsNoRequest(String head) throws Exception {
    var sent = head.equals("LONG") ? "GET / HTTP/1.1\r\nX: " + "x".repeat(20_000) : head;
    try (var server = serve();
        var socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(sent.getBytes(StandardCharsets.US_ASCII));
      var answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(answer).startsWith("HTTP/1.1 400 ").contains("\"reason\":\"Request\"");
    }
  }

  /** Each holds a place, until somebody else wants it. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "P",
        "PUT /disk HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n",
        "PUT /disk HTTP/1.1\r\nAuthorization: Bearer guessed\r\nContent-Length: 1048576\r\n\r\n"
      })
  void whoDoesNotSayWhatTheyWantOrMayNotKeepsNobodyOut(String said) throws Exception {
    var silent = new ArrayList<Socket>();
    try (var server = serve()) {
      for (int i = 0; i < 2 * Listener.PLACES; i++) {
        var socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort());
        socket.getOutputStream().write(said.getBytes(StandardCharsets.US_ASCII));
        silent.add(socket);
        if (said.length() > 1 && i < Listener.PLACES) {
          socket.setSoTimeout(20_000);
          assertThat(socket.getInputStream().readNBytes(12)).asString().isEqualTo("HTTP/1.1 401");
        }
      }
      assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("201 ");
      assertIsThere();
      var first = silent.getFirst();
      first.setSoTimeout(20_000);
      assertThat(first.getInputStream().readAllBytes().length).isLessThan(1000);
    } finally {
      for (var socket : silent) {
        socket.close();
      }
    }
  }

  @Test
  void aHeadThatDoesNotEndIsCutOff() throws Exception {
    try (var server = serve(volume, 0, Duration.ofMillis(400));
        var socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write("PUT /disk HT".getBytes(StandardCharsets.US_ASCII));
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    }
  }

  @Test
  void archivesAreNotTaken() throws Exception {
    try (var server = serve()) {
      assertThat(curl("--data-binary", "@" + qcow2, url(server, "/v1beta1/upload-archive")))
          .startsWith("400 ")
          .contains("archives are not taken");
    }
  }

  /** Halts when so many bytes have come. */
  static final class Killed {
    private Killed() {}

    public static void main(String[] args) throws Exception {
      var root = Path.of(args[0]);
      long at = Long.parseLong(args[1]);
      var options =
          new UploadServer.Options(
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
              new StateLayout(root.resolve("state"), root.resolve("run")),
              root.resolve("volume"),
              0,
              false,
              (Format) null,
              Optional.empty(),
              Duration.ofSeconds(30));
      try (var server = UploadServer.start(options)) {
        System.out.println(server.address().getPort());
        while (server.offset() < at) {
          Thread.onSpinWait();
        }
        Runtime.getRuntime().halt(9);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2_000_000})
  void aServerThatWasKilledIsFollowedByOneThatBeginsAnew(long at) throws Exception {
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Killed.class.getName(),
                dir.toString(),
                Long.toString(at))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    var port = process.inputReader(StandardCharsets.UTF_8).readLine();
    curl("-T", qcow2, "http://127.0.0.1:" + port + "/disk");
    assertThat(process.waitFor()).isEqualTo(9);
    assertThat(isHalf()).isTrue();
    try (var server = serve()) {
      assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("201 ");
      assertIsThere();
    }
  }

  /** The start of a PUT by hand, so that it can stop in the middle. */
  private static Socket put(UploadServer server, long length, byte[] bytes) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.address().getPort());
    var head =
        "PUT /disk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
            .formatted(TOKEN, length);
    socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().write(bytes);
    return socket;
  }

  private long offset(UploadServer server) throws IOException {
    var headers =
        Shell.run("curl", "-sI", "-H", "Authorization: Bearer " + TOKEN, url(server, "/disk"));
    return headers
        .lines()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith("upload-offset:"))
        .mapToLong(line -> Long.parseLong(line.substring(15).strip()))
        .findFirst()
        .orElseThrow();
  }

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

  @Test
  void whatDoesNotFitOrIsNoDiskOrIsNotWhatWasMeantIsRefusedAndTheNextIsTaken() throws Exception {
    var zip = Files.writeString(dir.resolve("a.zip"), "PK\003\004 and so on");
    var cut = Files.write(dir.resolve("cut"), Arrays.copyOf(Files.readAllBytes(qcow2), 1 << 20));
    try (var server = serve(volume, 64 << 20, Duration.ofSeconds(30))) {
      Shell.run("qemu-img", "create", "-f", "qcow2", dir.resolve("big"), "1G");
      assertThat(curl("-T", dir.resolve("big"), url(server, "/disk")))
          .startsWith("413 ")
          .contains("1073741824 bytes");
      assertThat(curl("-T", zip, url(server, "/disk"))).startsWith("415 ").contains("ZIP");
      assertThat(curl("-T", cut, url(server, "/disk")))
          .startsWith("415 ")
          .contains("outside the file");
      assertThat(
              curl(
                  "-H",
                  "Repr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
                  "-T",
                  qcow2,
                  url(server, "/disk")))
          .startsWith("422 ");
      assertThat(isHalf()).isTrue();
      assertThat(curl("-H", "Transfer-Encoding: chunked", "-T", qcow2, url(server, "/disk")))
          .startsWith("201 ");
      Shell.run("cmp", "-n", 6 << 20, raw, volume.resolve("disk.img"));
      assertThat(Files.size(volume.resolve("disk.img"))).as("of the claim").isEqualTo(60 << 20);
    }
  }

  private DiskUpload.Done upload(UploadServer server, Path file) throws IOException {
    return new DiskUpload(
            file, URI.create(url(server, "/disk")), Optional.of(TOKEN), 3, Duration.ofMillis(50))
        .run(Progress.NONE);
  }

  /** To a server; of the first connection the end is lost, and nobody says so. */
  private static ServerSocket losingTunnel(UploadServer server, int kept) throws IOException {
    var tunnel = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                for (var left = kept; ; left = Integer.MAX_VALUE) {
                  var from = tunnel.accept();
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

  @Test
  void ourClientBringsAnyOrder() throws Exception {
    var late = dir.resolve("late.qcow2");
    Shell.run("qemu-img", "create", "-f", "qcow2", "-o", "preallocation=metadata", late, "80M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 7 70M 64k", late);
    Shell.run("qemu-img", "resize", "-f", "qcow2", late, "2G");
    Shell.run("gzip", "-k", late);
    try (var server = serve()) {
      assertThat(curl("-T", late, url(server, "/disk"))).startsWith("415 ").contains("OutOfOrder");
      assertThatThrownBy(() -> upload(server, dir.resolve("late.qcow2.gz")))
          .as("what is packed has the order that it has")
          .hasMessageContaining("qemu-img convert");
      var done = upload(server, late);
      assertThat(done.sent()).isLessThan(4 << 20);
      Shell.run(
          "qemu-img", "compare", "-f", "qcow2", "-F", "raw", late, volume.resolve("disk.img"));
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
}
