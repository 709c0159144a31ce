package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Archives that are sent to a server, by curl and by our client; GNU tar and diff judge. */
class ArchiveUploadTest extends UploadScene {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private Path archive;

  @BeforeEach
  void makeArchive() throws IOException {
    archive = dir.resolve("x.tar.gz");
    Shell.run(
        "sh",
        "-ec",
        """
        cd %s; mkdir -p tree/many tree/shut
        for i in $(seq 500); do echo $i > tree/many/$i; done
        cp disk.raw tree/disk.img; echo > tree/shut/file; chmod 0555 tree/shut; ln -s /etc tree/etc
        tar -czf %s -C tree .
        """
            .formatted(dir, archive));
  }

  private UploadServer serveArchive() throws IOException {
    return serve(volume, 0, Format.TAR, PATIENCE);
  }

  private void assertIsUnpacked() {
    Shell.run("diff", "-r", "--no-dereference", "-x", "disk.img.json", dir.resolve("tree"), volume);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1beta1/upload-archive",
        "/v1alpha1/upload-archive",
        "/v1beta1/upload-async",
        "/v1beta1/upload"
      })
  void clientsOfCdiSendOne(String path) throws Exception {
    try (var server = serveArchive()) {
      assertThat(curl("--data-binary", "@" + archive, url(server, path))).startsWith("200 ");
      assertIsUnpacked();
      assertIsThere();
      assertThat(curl("--data-binary", "@" + archive, url(server, path))).startsWith("409 ");
    }
  }

  @Test
  void ourClientSendsOneAndGoesOnWhereItWas() throws Exception {
    try (var server = serveArchive()) {
      var bytes = Files.readAllBytes(archive);
      try (var socket = put(server, bytes.length, Arrays.copyOf(bytes, 1 << 20))) {
        while (offset(server) < 1 << 20) {
          Thread.onSpinWait();
        }
        assertThat(socket.isConnected()).isTrue();
      }
      var rest = dir.resolve("rest");
      Files.write(rest, Arrays.copyOfRange(bytes, 1 << 20, bytes.length));
      var range =
          "Content-Range: bytes %d-%d/%d".formatted(1 << 20, bytes.length - 1, bytes.length);
      assertThat(curl("-H", range, "-T", rest, url(server, "/disk"))).startsWith("201 ");
      assertIsUnpacked();
      var again = upload(server, archive);
      assertThat(again.format()).isEqualTo("tar");
      assertThatThrownBy(() -> upload(server, raw)).hasMessageContaining("is complete");
    }
  }

  @Test
  void whatIsRefusedLeavesNothingForTheNext() throws Exception {
    var bad = dir.resolve("bad.tar");
    Shell.run(
        "sh", "-ec", "cd %s; echo > first; mkfifo fifo; tar -cf bad.tar first fifo".formatted(dir));
    try (var server = serveArchive()) {
      assertThat(curl("-T", bad, url(server, "/disk"))).startsWith("415 ").contains("'fifo'");
      assertThat(isHalf()).isTrue();
      assertThat(volume.resolve("first")).exists();
      assertThat(curl("-T", qcow2, url(server, "/disk"))).startsWith("415 ").contains("no tar");
      assertThat(curl("-T", archive, url(server, "/disk"))).startsWith("201 ");
      assertIsUnpacked();
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
              Format.TAR,
              Optional.empty(),
              PATIENCE);
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
  @ValueSource(longs = {1, 300_000, 2_500_000})
  void aServerThatWasKilledIsFollowedByOneThatBeginsWithACleanVolume(long at) throws Exception {
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
    curl("-T", archive, "http://127.0.0.1:" + port + "/disk");
    assertThat(process.waitFor()).isEqualTo(9);
    assertThat(isHalf()).isTrue();
    Shell.run("sh", "-ec", "cd %s; rm -r tree/many; tar -czf x.tar.gz -C tree .".formatted(dir));
    try (var server = serveArchive()) {
      assertThat(curl("-T", archive, url(server, "/disk"))).startsWith("201 ");
      assertIsUnpacked();
    }
  }
}
