package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileServerTest {
  @TempDir private Path dir;
  private Path root;
  private Path disk;

  @BeforeEach
  void makeDisk() throws Exception {
    root = Files.createDirectory(dir.resolve("root"));
    disk = TestFile.make(root.resolve("disk.raw"));
  }

  @Test
  void curlGetsARangeAndItIsCounted() throws Exception {
    try (var server = FileServer.http(root)) {
      Path part = dir.resolve("part");
      String head = curl("-D-", "-o", part, "-r", "1000-1999", server.url("disk.raw"));

      assertThat(head).contains("HTTP/1.1 206", "bytes 1000-1999/4194304", "Accept-ranges: bytes");
      assertThat(Files.readAllBytes(part))
          .isEqualTo(Arrays.copyOfRange(Files.readAllBytes(disk), 1000, 2000));
      assertThat(server.bytes()).isEqualTo(1000);
      assertThat(server.requests())
          .containsExactly(
              new FileServer.Request("GET", "/disk.raw", "bytes=1000-1999", 206, 1000));
    }
  }

  @Test
  void theTagChangesWithTheFile() throws Exception {
    try (var server = FileServer.http(root)) {
      String before = tag(curl("-I", server.url("disk.raw")));
      assertThat(tag(curl("-I", server.url("disk.raw")))).isEqualTo(before);
      Files.setLastModifiedTime(disk, FileTime.fromMillis(0));
      assertThat(tag(curl("-I", server.url("disk.raw")))).isNotEqualTo(before);
    }
  }

  private static String tag(String head) {
    return head.lines().filter(line -> line.startsWith("Etag: ")).findFirst().orElseThrow();
  }

  @Test
  void whatIsNotThereOrOutOfRangeIsRefused() throws Exception {
    Files.writeString(dir.resolve("secret"), "not for you");
    try (var server = FileServer.http(root)) {
      assertThat(status(server.url("nothing"))).isEqualTo("404");
      assertThat(status("--path-as-is", server.url("../secret"))).isEqualTo("404");
      assertThat(status("-r", "4194304-", server.url("disk.raw"))).isEqualTo("416");
      assertThat(status("-X", "DELETE", server.url("disk.raw"))).isEqualTo("405");
    }
  }

  @Test
  void qemuReadsTheWholeDisk() throws Exception {
    try (var server = FileServer.http(root)) {
      Path copy = dir.resolve("copy");
      Shell.run("qemu-img", "convert", "-f", "raw", "-O", "raw", server.url("disk.raw"), copy);
      assertThat(Files.mismatch(copy, disk)).isEqualTo(-1);
    }
  }

  @Test
  void onlyThoseWhoKnowItsAuthorityAndTheHeaderAreServed() throws Exception {
    var certificates = Certificates.make(Files.createDirectory(dir.resolve("keys")));
    var header = new FileServer.Header("Authorization", "Bearer secret");
    try (var open = FileServer.https(root, certificates);
        var server = open.requiring(header)) {
      String url = server.url("disk.raw");
      Path ca = certificates.ca();
      // Little of it: the JDK is slow to encrypt until it has warmed up.
      assertThat(status("-r", "0-99", "--cacert", ca, open.url("disk.raw"))).isEqualTo("206");
      assertThat(Shell.shell().execute("curl", "-s", url).status())
          .as("an authority that nobody knows")
          .isEqualTo(60);
      assertThat(status("--cacert", ca, url)).isEqualTo("401");
      assertThat(status("--cacert", ca, "-H", "Authorization: Bearer guess", url)).isEqualTo("401");
      assertThat(status("-r", "0-99", "--cacert", ca, "-H", "Authorization: Bearer secret", url))
          .isEqualTo("206");
    }
  }

  @Test
  void aServerThatWentAwayComesBackAtTheSameAddress() {
    try (var server = FileServer.http(root)) {
      assertThat(status(server.url("disk.raw"))).isEqualTo("200");
      server.stop();
      assertThat(Shell.shell().execute("curl", "-s", server.url("disk.raw")).status()).isEqualTo(7);
      server.restart();
      assertThat(status(server.url("disk.raw"))).isEqualTo("200");
      assertThat(server.bytes()).isEqualTo(2L * TestFile.SIZE);
    }
  }

  private static String curl(Object... words) {
    Object[] command = new Object[words.length + 2];
    command[0] = "curl";
    command[1] = "-sS";
    System.arraycopy(words, 0, command, 2, words.length);
    return Shell.run(command);
  }

  private static String status(Object... words) {
    Object[] more = Arrays.copyOf(words, words.length + 4);
    System.arraycopy(
        new Object[] {"-o", "/dev/null", "-w", "%{http_code}"}, 0, more, words.length, 4);
    return curl(more);
  }
}
