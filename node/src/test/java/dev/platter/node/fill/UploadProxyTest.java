package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.platter.lab.Shell;
import dev.platter.node.fill.UploadProxy.Door;
import dev.platter.node.fill.UploadProxy.Refused;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.TlsContexts;
import dev.platter.node.x509.Validity;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A proxy before a real upload server; the client is curl. */
class UploadProxyTest {
  private static final String TOKEN = "secret-token";
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final InetSocketAddress ANYWHERE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final Authority AUTHORITY = Authority.make("test", Validity.ALWAYS);

  @TempDir Path dir;
  private Path disk;
  private Path volume;
  private UploadServer server;
  private UploadProxy proxy;

  /** What the pod is expected to be called, and where it is. */
  private String name = "pod";

  private InetSocketAddress pod = ANYWHERE;

  @BeforeEach
  void start() throws Exception {
    var raw = dir.resolve("disk.raw");
    disk = dir.resolve("disk.qcow2");
    volume = Files.createDirectory(dir.resolve("volume"));
    Shell.run("sh", "-c", "head -c 9M /dev/urandom >%s; truncate -s 12M %1$s".formatted(raw));
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk);
    Files.write(dir.resolve("ca.crt"), Pem.of(AUTHORITY.certificate()));
    server =
        UploadServer.start(
            new UploadServer.Options(
                ANYWHERE,
                new StateLayout(dir.resolve("state"), dir.resolve("run")),
                volume,
                0,
                false,
                null,
                Optional.of(TOKEN),
                PATIENCE),
            context("pod"),
            _ -> false);
    pod = server.address();
    var shown = context("localhost");
    proxy = UploadProxy.start(ANYWHERE, () -> shown, PATIENCE, this::find);
  }

  private static SSLContext context(String host) throws GeneralSecurityException, IOException {
    var made = AUTHORITY.server(host, List.of(Authority.Name.dns(host)), Validity.ALWAYS);
    return TlsContexts.server(made.key(), made.certificate());
  }

  private Door find(String token) throws Refused {
    if (token.equals("elsewhere")) {
      throw new Refused(401, "Token", "not here");
    }
    if (token.equals("broken")) {
      throw new IllegalStateException("the API server is away");
    }
    try {
      return new Door(pod, name, TlsContexts.client(AUTHORITY.certificate()));
    } catch (GeneralSecurityException | IOException e) {
      throw new AssertionError(e);
    }
  }

  @AfterEach
  void stop() throws IOException {
    proxy.close();
    server.close();
  }

  /** The body of an answer and its status. */
  private String curl(String token, String path, Object... more) {
    var command = new ArrayList<Object>();
    command.addAll(List.of("curl", "-sS", "--noproxy", "*", "--cacert", dir.resolve("ca.crt")));
    command.addAll(List.of("-H", "Authorization: Bearer " + token, "-w", "%{http_code}"));
    command.addAll(List.of(more));
    command.add("https://localhost:" + proxy.address().getPort() + path);
    return Shell.run(command.toArray());
  }

  private String post(Object... more) {
    var all = new ArrayList<Object>(List.of("-X", "POST", "-T", disk));
    all.addAll(List.of(more));
    return curl(TOKEN, "/v1beta1/upload-async", all.toArray());
  }

  private void isThere() {
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", volume.resolve("disk.img"), disk);
  }

  @Test
  void aDiskGoesToItsServerAsVirtctlSendsIt() {
    assertThat(curl(TOKEN, "/v1alpha1/upload-async", "-I")).endsWith("200");
    assertThat(post()).contains("\"Created\"").endsWith("200");
    isThere();
    assertThat(post()).contains("\"Complete\"").endsWith("409");
  }

  @Test
  void itMayComeInChunksAndWhenAskedForAndByAForm() {
    assertThat(post("-H", "Transfer-Encoding: chunked", "-H", "Expect: 100-continue"))
        .endsWith("200");
    isThere();
    assertThat(curl(TOKEN, "/v1beta1/upload-form", "-F", "file=@" + disk)).endsWith("409");
  }

  @Test
  void whoWasCutOffGoesOn() throws IOException {
    var half = Files.write(dir.resolve("half"), new byte[] {});
    Shell.run("sh", "-c", "head -c 5000000 %s >%s".formatted(disk, half));
    var total = Files.size(disk);
    assertThat(curl(TOKEN, "/disk", "-T", half, "-H", "Content-Range: bytes 0-4999999/" + total))
        .contains("\"Partial\"")
        .endsWith("202");
    assertThat(curl(TOKEN, "/disk", "-T", disk, "-C", "5000000")).endsWith("201");
    isThere();
  }

  @Test
  void whoHasNoTokenForHereGetsNoFurther() {
    assertThat(curl("elsewhere", "/v1beta1/upload", "-X", "POST", "-T", disk))
        .contains("not here")
        .endsWith("401");
    assertThat(curl("other", "/v1beta1/upload", "-X", "POST", "-T", disk)).endsWith("401");
    assertThat(curl(TOKEN, "/v1beta1/upload", "-H", "Authorization: Basic eDp5", "-d", "x"))
        .endsWith("400");
    assertThat(curl("broken", "/v1beta1/upload", "-d", "x")).endsWith("500");
    assertThat(curl(TOKEN, "/v1beta1/upload%0d%0aX:y", "-d", "x")).endsWith("404");
    assertThat(server.offset()).isZero();
  }

  @Test
  void archivesForADiskAreRefusedWithAReason() {
    assertThat(curl(TOKEN, "/v1beta1/upload-archive", "-X", "POST", "-T", disk))
        .contains("a disk is taken here")
        .endsWith("400");
  }

  /** An address may be another pod's by now. */
  @Test
  void aServerWithAnotherNameOrNoneGetsNothing() throws IOException {
    name = "other";
    assertThat(post()).contains("\"Unreachable\"").endsWith("502");
    assertThat(server.offset()).isZero();
    name = "pod";
    try (var closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      pod = (InetSocketAddress) closed.getLocalSocketAddress();
    }
    assertThat(post()).endsWith("502");
  }

  @Test
  void whatTheServerRefusesIsHeardBeforeAllIsSent() throws IOException {
    var large = dir.resolve("large.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", large, "100T");
    Shell.run("truncate", "-s", "4G", large);
    var answer =
        curl(
            TOKEN,
            "/v1beta1/upload",
            "-X",
            "POST",
            "-T",
            large,
            "-w",
            " %{size_upload} %{http_code}");
    assertThat(answer).contains("\"Refused\"").endsWith("400");
    assertThat(Long.parseLong(answer.replaceAll("(?s).* (\\d+) 400$", "$1"))).isLessThan(32L << 20);
  }

  /** Nobody reads, so nothing is read: what was sent is in the buffers of connections. */
  @Test
  void whoIsFasterThanTheServerWaits() throws Exception {
    Shell.run("truncate", "-s", "1G", dir.resolve("large.raw"));
    var tls = context("pod").getServerSocketFactory();
    var held = new ConcurrentLinkedQueue<Socket>();
    try (var lazy = tls.createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      pod = (InetSocketAddress) lazy.getLocalSocketAddress();
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  var socket = lazy.accept();
                  held.add(socket);
                  socket.getInputStream().read();
                } catch (IOException e) {
                  // The test is over.
                }
              });
      var sent =
          Shell.shell()
              .execute(
                  "curl",
                  "-sS",
                  "--noproxy",
                  "*",
                  "--cacert",
                  dir.resolve("ca.crt"),
                  "--max-time",
                  "4",
                  "-H",
                  "Authorization: Bearer " + TOKEN,
                  "-w",
                  "%{size_upload}",
                  "-T",
                  dir.resolve("large.raw"),
                  "https://localhost:" + proxy.address().getPort() + "/disk");
      assertThat(sent.status()).as(sent.output()).isNotZero();
      assertThat(Long.parseLong(sent.out())).isBetween(1L << 16, 64L << 20);
    }
    for (var socket : held) {
      socket.close();
    }
    assertThat(held).hasSize(1);
    // The place is free again.
    pod = server.address();
    await().atMost(Duration.ofSeconds(20)).until(() -> post().endsWith("200"));
  }
}
