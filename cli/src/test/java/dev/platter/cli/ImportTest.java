package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImportTest {
  @TempDir Path work;
  private Path raw;
  private Path volume;

  @BeforeEach
  void makeADisk() throws IOException {
    raw = work.resolve("disk.raw");
    volume = Files.createDirectory(work.resolve("volume"));
    Shell.run("sh", "-c", "head -c 3M /dev/urandom >%s; truncate -s 6M %1$s".formatted(raw));
  }

  @Test
  void theDiskOfAnImageComesToAClaim() throws IOException {
    var image = "oci:" + work.resolve("layout") + ":a";
    var pushed = Platter.run("push", raw, image, "-o", "json");
    assertThat(pushed.status()).as(pushed.err()).isZero();
    var objects =
        Files.writeString(
            work.resolve("objects.yaml"),
            """
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {name: root, namespace: default}
            spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 32Mi}}, volumeName: v}
            ---
            apiVersion: v1
            kind: PersistentVolume
            metadata: {name: v}
            spec: {accessModes: [ReadWriteOnce], capacity: {storage: 32Mi}, local: {path: %s}}
            """
                .formatted(volume));
    Object[] command = {
      "import", image, "root", "-f", objects, "-o", "json", "--state", work.resolve("state")
    };
    var done = Platter.run(command);
    assertThat(done.status()).as(done.err()).isZero();
    assertThat(done.json().path("digest")).isEqualTo(pushed.json().path("digest"));
    Shell.run("cmp", "-n", 6 << 20, raw, volume.resolve("disk.img"));
    assertThat(Files.size(volume.resolve("disk.img"))).isEqualTo(30 << 20);
    assertThat(Platter.run(command).json().path("already").asBoolean()).isTrue();
  }

  @Test
  void anUploadServerThatWasKilledLeavesNothingThatCountsAndTheNextTakesTheDisk() throws Exception {
    Object[] command = {
      "upload-server", volume, "--listen", "127.0.0.1:0", "--open", "--state", work
    };
    var first = Platter.start(Map.of(), work.resolve("first"), command);
    var url = url(work.resolve("first"));
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), URI.create(url).getPort())) {
      var head = "PUT /disk HTTP/1.1\r\nHost: x\r\nContent-Length: 6291456\r\n\r\n";
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().write(Arrays.copyOf(Files.readAllBytes(raw), 2 << 20));
      while (!Shell.run("curl", "-s", url).matches("(?s).*\"offset\":[1-9].*")) {
        Thread.sleep(20);
      }
    } finally {
      first.destroyForcibly().waitFor();
    }
    assertThat(Files.readString(volume.resolve("disk.img.json"))).contains("\"complete\":false");
    var second = Platter.start(Map.of(), work.resolve("second"), command);
    try {
      var sent = Platter.run("upload", raw, url(work.resolve("second")), "-o", "json");
      assertThat(sent.status()).as(sent.err()).isZero();
      assertThat(second.waitFor()).as("it ends when it is done").isZero();
    } finally {
      second.destroyForcibly();
    }
    Shell.run("cmp", raw, volume.resolve("disk.img"));
    assertThat(Files.readString(volume.resolve("disk.img.json"))).contains("\"complete\":true");
  }

  /** What a server says first, when it listens. */
  private static String url(Path log) throws Exception {
    while (!Files.exists(log) || !Files.readString(log).contains("/disk\n")) {
      Thread.sleep(20);
    }
    return Files.readString(log).lines().findFirst().orElseThrow();
  }

  @Test
  void nobodyFillsADiskWithoutATokenUnlessThatIsSaid() throws IOException {
    var done = Platter.run("upload-server", volume);
    assertThat(done.status()).isEqualTo(3);
    assertThat(done.err()).contains("--token-file");
    var token = volume.resolveSibling("token");
    var missing = Platter.run("upload-server", volume, "--open", "--token-file", token);
    assertThat(missing.status()).isEqualTo(4);
    Files.createFile(token);
    var empty = Platter.run("upload-server", volume, "--open", "--token-file", token);
    assertThat(empty.status()).isEqualTo(3);
    assertThat(empty.err()).contains("is empty");
  }
}
