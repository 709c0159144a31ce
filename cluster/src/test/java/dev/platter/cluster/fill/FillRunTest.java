package dev.platter.cluster.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.platter.cluster.api.FillResult;
import dev.platter.cluster.api.UploadSecret;
import dev.platter.image.Digest;
import dev.platter.lab.FileServer;
import dev.platter.lab.Loopback;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What runs in the pod that fills a claim; clients and judges are curl and qemu-img. */
class FillRunTest {
  @TempDir Path work;
  private Path volume = Path.of("");
  private Path disk = Path.of("");

  @BeforeEach
  void make() throws IOException {
    volume = Files.createDirectory(work.resolve("volume"));
    var raw = Files.write(work.resolve("disk.raw"), new byte[] {7, 7, 7});
    Shell.run("truncate", "-s", "2M", raw);
    disk = work.resolve("disk.qcow2");
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk);
  }

  private FillRun.Wanted wanted(
      @Nullable String source, Optional<Digest> digest, @Nullable Path login, int port) {
    return new FillRun.Wanted(
        source,
        volume,
        digest,
        null,
        256 << 20,
        Optional.ofNullable(login),
        Optional.empty(),
        0,
        port,
        work.resolve("result"));
  }

  private Map<String, String> environment() {
    return Map.of("HOME", work.resolve("home").toString());
  }

  private FillResult result() throws IOException {
    return FillResult.parse(Files.readString(work.resolve("result"))).orElseThrow();
  }

  private void isThere() throws IOException {
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", volume.resolve("disk.img"), disk);
    assertThat(result().digest()).isEqualTo(Digest.of(Files.readAllBytes(disk)).toString());
    assertThat(result().reason()).isEqualTo("Filled");
  }

  @Test
  void aDiskIsTakenFromWhoeverHasTheToken() throws Exception {
    var secret = Files.createDirectory(work.resolve("secret"));
    for (var file : UploadSecret.make("platter-fill-1").entrySet()) {
      Files.write(secret.resolve(file.getKey()), file.getValue());
    }
    var port = Loopback.freePort(Loopback.HOST);
    var done =
        CompletableFuture.runAsync(
            () -> {
              try {
                FillRun.run(wanted(null, Optional.empty(), secret, port), environment());
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
    var url = "https://platter-fill-1:" + port;
    await()
        .until(
            () ->
                curl(secret, port, url + "/healthz").status() == 0
                    || done.isCompletedExceptionally());
    assertThat(curl(secret, port, url + "/disk", "-T", disk, "-H", "Authorization: Bearer x").out())
        .contains("\"Token\"");
    assertThat(done).isNotDone();
    var token = Files.readString(secret.resolve(UploadSecret.TOKEN));
    var sent =
        curl(secret, port, url + "/disk", "-T", disk, "-H", "Authorization: Bearer " + token);
    assertThat(sent.out()).as(sent.output()).contains("\"Created\"");
    done.join();
    isThere();
  }

  /** Trusts the authority of the Secret and nobody else. */
  private static Shell.Result curl(Path secret, int port, String url, Object... more) {
    var words =
        new ArrayList<Object>(
            List.of(
                "curl",
                "-sS",
                "--noproxy",
                "*",
                "--cacert",
                secret.resolve(UploadSecret.AUTHORITY),
                "--resolve",
                "platter-fill-1:" + port + ":127.0.0.1",
                url));
    words.addAll(List.of(more));
    return Shell.shell().execute(words.toArray());
  }

  @Test
  void aLoginOfASecretBringsTheDiskAndAnotherDigestNothing() throws Exception {
    var login = Files.createDirectory(work.resolve("login"));
    Files.writeString(login.resolve("username"), "alice\n");
    Files.writeString(login.resolve("password"), "orchid\n");
    try (var open = FileServer.http(work);
        var locked =
            open.requiring(new FileServer.Header("Authorization", "Basic YWxpY2U6b3JjaGlk"))) {
      var url = locked.url("disk.qcow2");
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(
              () ->
                  FillRun.run(
                      wanted(url, Optional.of(Digest.of(new byte[1])), login, 0), environment()));
      assertThat(result().reason()).isEqualTo("Refused");
      assertThat(result().digest()).isNull();
      assertThat(Files.readString(work.resolve("result"))).doesNotContain("orchid");

      FillRun.run(wanted(url, Optional.empty(), login, 0), environment());
      isThere();
    }
  }

  @Test
  void aLoginThatIsNoLineIsNotShown() throws Exception {
    var login = Files.createDirectory(work.resolve("login"));
    Files.writeString(login.resolve("authorization"), "Bearer secret\r\nX-Other: 1");
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(
            () ->
                FillRun.run(
                    wanted("http://127.0.0.1:1/x", Optional.empty(), login, 0), environment()));
    assertThat(result().reason()).isEqualTo("Invalid");
    assertThat(Files.readString(work.resolve("result"))).doesNotContain("secret\\r");
  }
}
