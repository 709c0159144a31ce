package dev.platter.node.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.platter.block.nbd.NbdServer;
import dev.platter.lab.Certificates;
import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import dev.platter.registry.AddressPolicy;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Against the lab's web server; what is read is compared by QEMU's and libnbd's tools. */
class WebDiskTest {
  private static final String TOKEN = "Bearer a secret of 28 letters";
  private static final Duration SHORT = Duration.ofMillis(100);
  private static final Duration LONG = Duration.ofMinutes(1);

  @TempDir Path work;
  private Path root;
  private Path file;

  @BeforeEach
  void makeFile() throws IOException {
    root = Files.createDirectory(work.resolve("root"));
    file = root.resolve("disk");
    // Not a whole number of chunks.
    Shell.run(
        "sh", "-c", "head -c 10485760 /dev/urandom > " + file + "; truncate -s 24576512 " + file);
  }

  private static WebAccess access(String url) {
    return new WebAccess(url, null, Map.of());
  }

  /** The name that a server led to may mean another address by now. */
  @Test
  void whereAServerLedToIsLookedAtEachTime() throws IOException {
    var near = AddressPolicy.anyBut(List.of("127.0.0.2/32"));
    try (var server = FileServer.http("127.0.0.2", root)) {
      var url = URI.create(server.url("disk"));
      assertThatThrownBy(
              () -> WebDisk.open(WebAccess.ledTo(url, "127.0.0.1", near), null, SHORT).close())
          .isInstanceOf(WebRefusal.class)
          .hasMessageContaining("127.0.0.1 leads nearer to this machine");
      assertThat(server.requests()).isEmpty();
      WebDisk.open(WebAccess.ledTo(url, "127.0.0.1", AddressPolicy.any()), null, SHORT).close();
      WebDisk.open(WebAccess.at(url, Map.of(), near), null, SHORT).close();
    }
  }

  private static byte[] read(WebDisk disk, long offset, int length) throws IOException {
    var buffer = ByteBuffer.allocate(length);
    disk.read(offset, buffer);
    return buffer.array();
  }

  private byte[] expected(long offset, int length) throws IOException {
    return Arrays.copyOfRange(Files.readAllBytes(file), (int) offset, (int) offset + length);
  }

  @Test
  void aServerWithItsOwnAuthorityIsReadWithAHeader() throws Exception {
    var certificates = Certificates.make(Files.createDirectory(work.resolve("keys")));
    var ca = Files.readAllBytes(certificates.ca());
    var token = Map.of("Authorization", TOKEN.getBytes(StandardCharsets.US_ASCII));
    try (var open = FileServer.https(root, certificates);
        var server = open.requiring(new FileServer.Header("Authorization", TOKEN));
        var nbd = new NbdServer()) {
      var url = server.url("disk");
      assertThatThrownBy(() -> WebDisk.open(new WebAccess(url, null, token), null, SHORT))
          .hasMessageContaining("no secure connection");
      var wrong = Map.of("Authorization", "guess".getBytes(StandardCharsets.US_ASCII));
      assertThatThrownBy(() -> WebDisk.open(new WebAccess(url, ca, wrong), null, SHORT))
          .hasMessageContaining("answered 401")
          .hasMessageNotContaining("guess");
      try (var disk = WebDisk.open(new WebAccess(url, ca, token), null, SHORT)) {
        var socket = work.resolve("nbd.sock");
        nbd.add("disk", disk);
        nbd.listen(UnixDomainSocketAddress.of(socket));
        var uri = "nbd+unix:///disk?socket=" + socket;
        Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", file, uri);
        Shell.run("nbdcopy", uri, work.resolve("copy"));
        assertThat(Files.mismatch(file, work.resolve("copy"))).isEqualTo(-1);
      }
    }
  }

  @Test
  void whoReadsInOrderNeedsFewRequestsAndReadsNothingTwice() throws Exception {
    try (var server = FileServer.http(root);
        var disk = WebDisk.open(access(server.url("disk")), null, SHORT)) {
      for (int at = 0; at < disk.size(); at += 64 << 10) {
        var length = (int) Math.min(64 << 10, disk.size() - at);
        assertThat(read(disk, at, length)).isEqualTo(expected(at, length));
      }
      assertThat(server.requests()).hasSizeLessThan(15);
      assertThat(server.bytes()).isLessThanOrEqualTo(1 + disk.size());
    }
  }

  @Test
  void whoReadsHereAndThereGetsLittleMore() throws Exception {
    try (var server = FileServer.http(root);
        var disk = WebDisk.open(access(server.url("disk")), null, SHORT)) {
      for (int i = 0; i < 8; i++) {
        long at = (i * 5L % 8) * (3 << 20) + 4096;
        assertThat(disk.ready(at, 4096)).isFalse();
        assertThat(read(disk, at, 4096)).isEqualTo(expected(at, 4096));
        assertThat(disk.ready(at, 4096)).isTrue();
      }
      assertThat(server.bytes()).isLessThanOrEqualTo(8 * (256 << 10) + 1);
    }
  }

  @Test
  void whoWantsWhatIsOnItsWayWaitsForThat() throws Exception {
    try (var server = FileServer.http(root);
        var disk = WebDisk.open(access(server.url("disk")), null, SHORT);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Callable<byte[]>> readers = new ArrayList<>();
      for (int i = 0; i < 32; i++) {
        readers.add(() -> read(disk, 1 << 20, 1 << 20));
      }
      for (var reader : threads.invokeAll(readers)) {
        assertThat(reader.get()).isEqualTo(expected(1 << 20, 1 << 20));
      }
      var of = server.requests().stream().map(FileServer.Request::range).toList();
      assertThat(of).doesNotHaveDuplicates();
    }
  }

  @Test
  void aFileThatChangesIsAnErrorAndNotAMixture() throws Exception {
    try (var server = FileServer.http(root);
        var disk = WebDisk.open(access(server.url("disk")), null, LONG)) {
      read(disk, 0, 512);
      Files.setLastModifiedTime(file, FileTime.fromMillis(0));
      assertThatThrownBy(() -> read(disk, 8 << 20, 512)).hasMessageContaining("has changed");
      assertThatThrownBy(() -> disk.use(access(server.url("disk"))))
          .hasMessageContaining("has changed");
      assertThat(read(disk, 0, 512)).as("what was read before").isEqualTo(expected(0, 512));
    }
  }

  @Test
  void aReaderWaitsForAServerThatIsAway() throws Exception {
    try (var server = FileServer.http(root);
        var disk = WebDisk.open(access(server.url("disk")), null, LONG);
        var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      server.stop();
      var late = threads.submit(() -> read(disk, 5 << 20, 4096));
      Thread.sleep(400);
      assertThat(late.isDone()).isFalse();
      server.restart();
      assertThat(late.get()).isEqualTo(expected(5 << 20, 4096));

      server.stop();
      var never = threads.submit(() -> read(disk, 9 << 20, 4096));
      Thread.sleep(100);
      disk.close();
      assertThatThrownBy(never::get).hasCauseInstanceOf(IOException.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "200, '', does not give parts",
    "302, '', leads elsewhere",
    "206, bytes 0-0/0, gave others",
    "206, bytes 5-5/100, gave others",
    "206, '', gave others",
    "404, '', is not there",
    "503, '', answered 503"
  })
  void answersOfNoUseAreRefused(int status, String range, String why) throws IOException {
    var rude = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    rude.createContext(
        "/",
        exchange -> {
          try (exchange) {
            exchange.getResponseHeaders().set("Location", "http://127.0.0.1:1/");
            if (!range.isEmpty()) {
              exchange.getResponseHeaders().set("Content-Range", range);
            }
            exchange.sendResponseHeaders(status, 0);
            for (int i = 0; i < (status == 206 ? 1 : 1 << 20); i++) {
              exchange.getResponseBody().write(new byte[status == 206 ? 1 : 4096]);
            }
          }
        });
    rude.start();
    try {
      var url = "http://127.0.0.1:" + rude.getAddress().getPort() + "/disk";
      var token = Map.of("X", "secret-in-header".getBytes(StandardCharsets.US_ASCII));
      assertThatThrownBy(() -> WebDisk.open(new WebAccess(url, null, token), null, SHORT))
          .isInstanceOf(IOException.class)
          .hasMessageContaining(why)
          .hasMessageNotContaining("secret-in-header");
    } finally {
      rude.stop(0);
    }
  }

  @Test
  void aServerThatMustBeElsewhereIsNotAskedIfItIsHere() throws Exception {
    var asked = new AtomicInteger();
    var here = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    here.createContext(
        "/",
        exchange -> {
          asked.incrementAndGet();
          exchange.close();
        });
    here.start();
    try {
      for (var host : List.of("127.0.0.1", "localhost", "2130706433", "[::1]")) {
        var url = "http://" + host + ":" + here.getAddress().getPort() + "/disk";
        assertThatThrownBy(
                () -> WebDisk.open(new WebAccess(url, null, Map.of(), true), null, SHORT))
            .isInstanceOf(IOException.class)
            .hasMessageContaining("this machine itself");
      }
      assertThat(asked).hasValue(0);
    } finally {
      here.stop(0);
    }
  }

  @Test
  void refusedAnswersKeepNoConnections() throws Exception {
    var busy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    busy.createContext(
        "/",
        exchange -> {
          try (exchange) {
            exchange.sendResponseHeaders(503, 4096);
            exchange.getResponseBody().write(new byte[4096]);
          }
        });
    busy.start();
    var url = "http://127.0.0.1:" + busy.getAddress().getPort() + "/disk";
    try (var reader = new WebReader(access(url))) {
      assertThatThrownBy(() -> reader.get(0, 1)).isInstanceOf(WebReader.Away.class);
      var before = openFiles();
      for (int i = 0; i < 100; i++) {
        assertThatThrownBy(() -> reader.get(0, 1)).isInstanceOf(WebReader.Away.class);
      }
      // A few may be about to be closed.
      assertThat(openFiles()).isLessThan(before + 50);
    } finally {
      busy.stop(0);
    }
  }

  private static long openFiles() throws IOException {
    try (var files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    }
  }

  @Test
  void onlyTheVersionThatIsExpectedIsOpened() throws Exception {
    try (var server = FileServer.http(root)) {
      var url = server.url("disk");
      WebVersion version;
      try (var disk = WebDisk.open(access(url), null, SHORT)) {
        version = disk.version();
      }
      WebDisk.open(access(url), version, SHORT).close();
      Files.setLastModifiedTime(file, FileTime.fromMillis(0));
      assertThatThrownBy(() -> WebDisk.open(access(url), version, SHORT))
          .isInstanceOf(WebRefusal.class)
          .hasMessageContaining("has changed");
    }
  }

  @Test
  void aSecretThatCannotBeSentIsNotShown() {
    var bad = Map.of("X", "two\nlines".getBytes(StandardCharsets.US_ASCII));
    assertThatThrownBy(() -> new WebAccess("http://127.0.0.1/a", null, bad))
        .hasMessageContaining("header X")
        .hasMessageNotContaining("lines of")
        .hasMessageNotContaining("two");
    var good = Map.of("X", "hidden".getBytes(StandardCharsets.US_ASCII));
    assertThat(new WebAccess("http://127.0.0.1/a?token", null, good).toString())
        .isEqualTo("http://127.0.0.1/a");
  }
}
