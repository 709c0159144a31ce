package dev.platter.node.fill;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.Progress;
import dev.platter.plan.StateLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The client is curl. */
class UploadServerTest extends UploadScene {
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
  void anArchiveIsNotTakenForADisk() throws Exception {
    try (var server = serve()) {
      assertThat(curl("--data-binary", "@" + qcow2, url(server, "/v1beta1/upload-archive")))
          .startsWith("400 ")
          .contains("a disk is taken here");
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

  @Test
  void ourClientSendsNothingThatIsEmptyAndARequestThatIsRefusedOnce() throws Exception {
    var empty = Files.createFile(dir.resolve("empty"));
    try (var server = serve()) {
      assertThatThrownBy(() -> upload(server, empty))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining(empty + " is empty");
    }
    var requests = new AtomicInteger();
    var stranger = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    stranger.createContext(
        "/",
        exchange -> {
          requests.incrementAndGet();
          exchange.getRequestBody().readAllBytes();
          var answer = "{\"reason\": \"Request\", \"message\": \"no such header\"}".getBytes(UTF_8);
          exchange.sendResponseHeaders(400, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    stranger.start();
    try {
      var url = URI.create("http://127.0.0.1:" + stranger.getAddress().getPort() + "/disk");
      var upload = new DiskUpload(qcow2, url, Optional.of(TOKEN), 3, Duration.ofMillis(10));
      assertThatThrownBy(() -> upload.run(Progress.NONE))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("no such header");
      assertThat(requests).hasValue(1);
    } finally {
      stranger.stop(0);
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
}
