package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.platter.image.Digest;
import dev.platter.lab.Certificates;
import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.StateLayout;
import dev.platter.registry.AddressPolicy;
import dev.platter.registry.RegistrySettings;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Disks from real web servers, friendly and hostile, compared with qemu-img and sha256sum. */
class WebImageTest {
  private static final Duration SOON = Duration.ofMillis(10);
  private static final long MOST = 64 << 20;

  @TempDir Path work;
  private StateLayout layout;
  private Path root;
  private FileServer server;
  private Optional<Digest> expected = Optional.empty();
  private RegistrySettings settings = RegistrySettings.defaults();
  private final List<Long> progress = new CopyOnWriteArrayList<>();

  @BeforeEach
  void serve() throws IOException {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    root = Files.createDirectory(work.resolve("root"));
    server = FileServer.http(root);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private ImageSources sources() {
    return new ImageSources() {
      @Override
      public Located find(String url) {
        var files = new WebFiles(settings, SOON, Duration.ofSeconds(5));
        var bounds = new WebDownload.Bounds(MOST, Duration.ofMinutes(1), SOON);
        return new Located(new WebImage(layout, url, files, expected, bounds), "", url);
      }

      @Override
      public Located at(String url) {
        return new Located(WebImage.here(layout, url), "", url);
      }
    };
  }

  private LocalImages images() {
    return new LocalImages(layout, sources(), ImageUsers.NONE);
  }

  private String resolve(String url) {
    return images().resolve(url, ImageLogins.NONE, (_, done, _) -> progress.add(done));
  }

  private Path disk(String name, String format) {
    var file = root.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", format, file, "8M");
    Shell.run("qemu-io", "-f", format, "-c", "write -P 65 1M 1M", "-c", "write -P 66 6M 64k", file);
    return file;
  }

  private static String sha256sum(Path file) {
    return Shell.run("sha256sum", file).substring(0, 64);
  }

  /** What is here besides notes. */
  private List<String> left() throws IOException {
    if (!Files.isDirectory(layout.web())) {
      return List.of();
    }
    try (var files = Files.list(layout.web())) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> !name.matches("[0-9a-f]{32}\\.json"))
          .toList();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"raw", "qcow2"})
  void aFileBecomesTheBaseOfAnImage(String format) throws IOException {
    var disk = disk("disk", format);
    var digest = resolve(server.url("disk"));
    assertThat(left()).containsExactly("sha256-" + sha256sum(disk));
    images().complete(server.url("disk"), digest, Images.BytesDone.NOBODY);
    Shell.run("qemu-img", "compare", "-f", format, "-F", "raw", disk, layout.base(digest));
    assertThat(Files.readString(layout.manifest(digest))).contains("sha256:" + sha256sum(disk));
    assertThat(left()).as("all that is needed is in the base").isEmpty();
    assertThat(progress).contains(Files.size(disk));
    assertThat(images().list())
        .extracting(status -> status.image().reference())
        .containsExactly(server.url("disk"));
  }

  @Test
  void theDaemonServesItWhileItIsNotCompleteYet() throws Exception {
    var disk = disk("disk", "qcow2");
    var hour = Duration.ofHours(1);
    var options = new ImageDaemon.Options(Duration.ZERO, hour, hour, 0, 0);
    try (var _ =
        ImageDaemon.start(layout, sources(), ImageUsers.NONE, _ -> {}, options).orElseThrow()) {
      var images =
          new ImageClient(layout, sources(), new DaemonLauncher(layout, List.of("/bin/false")));
      var url = server.url("disk");
      var digest = images.resolve(url);
      images.ensure(url, digest, Images.BytesDone.NOBODY);
      Shell.run(
          "qemu-img",
          "compare",
          "-f",
          "qcow2",
          "-F",
          "raw",
          disk,
          "nbd+unix:///" + digest + "?socket=" + layout.nbdSocket());
      images.complete(url, digest, Images.BytesDone.NOBODY);
      assertThat(images.sealed(digest)).isTrue();
      assertThat(left()).isEmpty();
      assertThat(images.collect()).hasSize(1);
      assertThat(layout.web()).as("notes of what is gone go too").isEmptyDirectory();
    }
  }

  @Test
  void theSameVersionIsFetchedOnceAndAnotherOneIsAnotherImage() throws IOException {
    var disk = disk("disk", "raw");
    var url = server.url("disk");
    var digest = resolve(url);
    var asked = server.requests().size();
    progress.clear();
    assertThat(resolve(url)).isEqualTo(digest);
    assertThat(server.requests()).as("it is asked whether it has changed").hasSize(asked + 1);
    assertThat(progress).isEmpty();

    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 1 0 64k", disk);
    Files.setLastModifiedTime(disk, FileTime.fromMillis(0));
    var other = resolve(url);
    assertThat(other).isNotEqualTo(digest);
    images().complete(url, digest, Images.BytesDone.NOBODY);
    images().complete(url, other, Images.BytesDone.NOBODY);
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", disk, layout.base(other));
    assertThat(Files.mismatch(layout.base(digest), layout.base(other))).isZero();
  }

  @Test
  void whatIsHereIsUsedWhileItsServerIsAway() throws IOException {
    disk("disk", "raw");
    var url = server.url("disk");
    var digest = resolve(url);
    server.stop();
    assertThat(resolve(url)).isEqualTo(digest);
    images().complete(url, digest, Images.BytesDone.NOBODY);
    assertThat(resolve(url)).as("sealed").isEqualTo(digest);
    images().collect();
    assertThat(catchThrowableOfType(PlatterException.class, () -> resolve(url)).code())
        .isEqualTo(Code.UNAVAILABLE);
  }

  @Test
  void aServerWithAnAuthorityInCertsDIsTrusted() throws IOException {
    var disk = disk("disk", "raw");
    var certificates = Certificates.make(Files.createDirectory(work.resolve("keys")));
    try (var secure = FileServer.https(root, certificates)) {
      var url = secure.url("disk");
      var unknown = catchThrowableOfType(PlatterException.class, () -> resolve(url));
      assertThat(unknown).hasMessageContaining("is its certificate trusted");
      var known = work.resolve("certs.d/127.0.0.1:" + secure.port());
      Files.createDirectories(known);
      Files.copy(certificates.ca(), known.resolve("ca.crt"));
      settings =
          new RegistrySettings(List.of(), List.of(work.resolve("certs.d")), AddressPolicy.any(), 4);
      resolve(url);
      assertThat(left()).containsExactly("sha256-" + sha256sum(disk));
    }
  }

  @Test
  void aDigestThatTheFileHasNotIsRefusedAndNothingIsLeft() throws IOException {
    var disk = disk("disk", "raw");
    var url = server.url("disk");
    expected = Optional.of(Digest.of(new byte[1]));
    var error = catchThrowableOfType(PlatterException.class, () -> resolve(url));
    assertThat(error.code()).isEqualTo(Code.REFUSED);
    assertThat(error).hasMessageContaining("sha256:" + sha256sum(disk));
    assertThat(layout.web()).isEmptyDirectory();

    expected = Optional.of(Digest.ofHex(sha256sum(disk)));
    var digest = resolve(url);
    server.stop();
    assertThat(resolve(url)).as("a digest needs no server").isEqualTo(digest);
    expected = Optional.of(Digest.of(new byte[1]));
    server.restart();
    assertThat(catchThrowableOfType(PlatterException.class, () -> resolve(url)).code())
        .isEqualTo(Code.REFUSED);
    assertThat(left()).hasSize(1);
  }

  /** As after kill -9 or a power cut: what is behind the noted bytes may be anything. */
  @ParameterizedTest
  @CsvSource({"true, bytes=3145728-", "false, ''"})
  void aDownloadThatWasCutGoesOnBehindWhatIsSureIfTheFileIsTheSame(boolean same, String range)
      throws IOException {
    var disk = root.resolve("disk");
    Shell.run("sh", "-c", "head -c 8388608 /dev/urandom > " + disk);
    var url = server.url("disk");
    var bytes = Arrays.copyOf(Files.readAllBytes(disk), 4 << 20);
    Arrays.fill(bytes, 3 << 20, 4 << 20, (byte) 0);
    Files.createDirectories(layout.web());
    Files.write(layout.webPart(WebStore.key(url)), bytes);
    var tag =
        "\"%x-%x\"".formatted(8 << 20, Files.getLastModifiedTime(disk).toInstant().toEpochMilli());
    new WebStore(layout)
        .keep(url, new WebStore.Part(same ? tag : "\"other\"", "", 8 << 20, 3 << 20));

    resolve(url);
    assertThat(server.requests().getLast().range()).isEqualTo(range);
    assertThat(left()).containsExactly("sha256-" + sha256sum(disk));
  }

  @Test
  void whatWasCutShortIsRemovedByGc() throws IOException {
    Files.createDirectories(layout.web());
    Files.write(layout.webPart(WebStore.key("http://a/b")), new byte[10]);
    new WebStore(layout).keep("http://a/b", new WebStore.Part("\"t\"", "", 20, 10));
    images()
        .complete(
            server.url(disk("d", "raw").getFileName().toString()),
            resolve(server.url("d")),
            Images.BytesDone.NOBODY);
    assertThat(left()).as("somebody may go on with it").hasSize(2);
    images().collect();
    assertThat(layout.web()).isEmptyDirectory();
  }

  private interface Answer {
    void give(HttpExchange exchange) throws IOException;
  }

  private PlatterException refusal(Answer answer) throws IOException {
    var rude = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    rude.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    rude.createContext(
        "/",
        exchange -> {
          try (exchange) {
            answer.give(exchange);
          }
        });
    rude.start();
    try {
      var url = "http://127.0.0.1:" + rude.getAddress().getPort() + "/disk";
      return catchThrowableOfType(PlatterException.class, () -> resolve(url));
    } finally {
      rude.stop(0);
    }
  }

  @Test
  void aConnectionThatBreaksAgainAndAgainIsGoneOnWith() throws IOException {
    var disk = root.resolve("disk");
    Shell.run("sh", "-c", "head -c 6291456 /dev/urandom > " + disk);
    var bytes = Files.readAllBytes(disk);
    var ranges = new CopyOnWriteArrayList<String>();
    var error =
        refusal(
            exchange -> {
              var range = String.valueOf(exchange.getRequestHeaders().getFirst("Range"));
              ranges.add(range);
              int from =
                  range.equals("null") ? 0 : Integer.parseInt(range.replaceAll("[^0-9]", ""));
              exchange.getResponseHeaders().set("ETag", "\"one\"");
              exchange
                  .getResponseHeaders()
                  .set(
                      "Content-Range",
                      "bytes %d-%d/%d".formatted(from, bytes.length - 1, bytes.length));
              exchange.sendResponseHeaders(from == 0 ? 200 : 206, bytes.length - from);
              exchange.getResponseBody().write(bytes, from, Math.min(1 << 20, bytes.length - from));
            });
    assertThat(error).isNull();
    assertThat(ranges).hasSizeGreaterThan(5).startsWith("null", "bytes=1048576-");
    assertThat(left()).containsExactly("sha256-" + sha256sum(disk));
  }

  /** It does not look at If-Range, and tells no tags. */
  @Test
  void aFileThatChangesWhileItComesIsFetchedAnew() throws IOException {
    var before = new byte[3 << 20];
    Arrays.fill(before, (byte) 1);
    var disk = root.resolve("disk");
    Shell.run("sh", "-c", "head -c 3145728 /dev/urandom > " + disk);
    var after = Files.readAllBytes(disk);
    var requests = new CopyOnWriteArrayList<String>();
    var error =
        refusal(
            exchange -> {
              var range = String.valueOf(exchange.getRequestHeaders().getFirst("Range"));
              requests.add(range);
              var bytes = requests.size() == 1 ? before : after;
              var headers = exchange.getResponseHeaders();
              headers.set(
                  "Last-Modified", "Sun, 15 Nov 2026 20:00:0" + (bytes == before ? 1 : 2) + " GMT");
              int from = range.equals("null") ? 0 : 1 << 20;
              headers.set(
                  "Content-Range",
                  "bytes %d-%d/%d".formatted(from, bytes.length - 1, bytes.length));
              exchange.sendResponseHeaders(from == 0 ? 200 : 206, bytes.length - from);
              exchange
                  .getResponseBody()
                  .write(bytes, from, bytes == before ? 1 << 20 : bytes.length - from);
            });
    assertThat(error).isNull();
    assertThat(requests).containsExactly("null", "bytes=1048576-", "null");
    assertThat(left()).containsExactly("sha256-" + sha256sum(disk));
  }

  @Test
  void aServerThatPromisesMoreThanItSendsIsGivenUp() throws IOException {
    var error =
        refusal(
            exchange -> {
              exchange.sendResponseHeaders(200, 100_000);
              exchange.getResponseBody().write(new byte[1000]);
              exchange.getResponseBody().flush();
            });
    assertThat(error.code()).isEqualTo(Code.UNAVAILABLE);
    assertThat(error).hasMessageContaining("after 1000 bytes");
    assertThat(layout.web()).isEmptyDirectory();
  }

  @Test
  void aFileWithoutAnEndIsGivenUp() throws IOException {
    var error =
        refusal(
            exchange -> {
              exchange.sendResponseHeaders(200, 0);
              while (true) {
                exchange.getResponseBody().write(new byte[1 << 20]);
              }
            });
    assertThat(error.code()).isEqualTo(Code.REFUSED);
    assertThat(error).hasMessageContaining("more than the limit of " + MOST);
    assertThat(layout.web()).isEmptyDirectory();
  }

  @ParameterizedTest
  @CsvSource({
    "/disk, more than 5 redirects",
    "file:///etc/passwd, not https or http",
    "ftp://127.0.0.1/disk, not https or http",
    "http://user:password@127.0.0.1/disk, not https or http"
  })
  void redirectsThatLeadNowhereOrElsewhereAreRefused(String location, String why)
      throws IOException {
    var error =
        refusal(
            exchange -> {
              exchange.getResponseHeaders().set("Location", location);
              exchange.sendResponseHeaders(302, -1);
            });
    assertThat(error.code()).isEqualTo(Code.REFUSED);
    assertThat(error).hasMessageContaining(why).hasMessageNotContaining("password");
    assertThat(layout.web()).isEmptyDirectory();
  }

  @ParameterizedTest
  @CsvSource({"404, NOT_FOUND", "403, UNAVAILABLE", "418, REFUSED", "503, UNAVAILABLE"})
  void errorsOfTheServerAreTold(int status, Code code) throws IOException {
    var error = refusal(exchange -> exchange.sendResponseHeaders(status, -1));
    assertThat(error.code()).isEqualTo(code);
    assertThat(error).hasMessageContaining("answered " + status);
    assertThat(layout.web()).isEmptyDirectory();
  }

  @ParameterizedTest
  @CsvSource({
    "gzip -c disk, packed with gzip",
    "xz -c disk, packed with xz",
    "echo '<!DOCTYPE html><title>Moved</title>', a web page",
    "qemu-img create -q -f vmdk x.vmdk 8M; cat x.vmdk, a VMDK",
    "true, the file is empty",
    "qemu-img create -q -f qcow2 -b /etc/passwd -F raw x.qcow2 8M; cat x.qcow2, backing file",
    "qemu-img create -q -f qcow2 -o data_file=x.data x.qcow2 8M; cat x.qcow2, in another file"
  })
  void whatIsNoDiskOfOursIsRefusedAndNothingIsLeft(String make, String why) throws IOException {
    disk("disk", "raw");
    Shell.shell().in(root).check("sh", "-c", "{ " + make + "; } > file");
    var error = catchThrowableOfType(PlatterException.class, () -> resolve(server.url("file")));
    assertThat(error.code()).isEqualTo(Code.REFUSED);
    assertThat(error).hasMessageContaining(why);
    assertThat(layout.web()).isEmptyDirectory();
  }
}
