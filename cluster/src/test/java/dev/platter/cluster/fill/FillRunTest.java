package dev.platter.cluster.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.api.FillResult;
import dev.platter.cluster.api.UploadSecret;
import dev.platter.cluster.api.UploadToken;
import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.lab.Certificates;
import dev.platter.lab.FileServer;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.Loopback;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
    return wanted(source, digest, null, login, port);
  }

  private FillRun.Wanted wanted(
      @Nullable String source,
      Optional<Digest> digest,
      @Nullable Format format,
      @Nullable Path login,
      int port) {
    return new FillRun.Wanted(
        source,
        volume,
        digest,
        format,
        256 << 20,
        Optional.ofNullable(login),
        Optional.empty(),
        0,
        port,
        work.resolve("result"));
  }

  private Map<String, String> environment() {
    return environment("home");
  }

  /** As of an operator who lets disks come from this machine. */
  private Map<String, String> environment(String home) {
    return Map.of("HOME", work.resolve(home).toString(), "PLATTER_IMAGE_NETWORKS", "127.0.0.0/8");
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
    takes(
        UploadSecret.make("platter-fill-1"),
        secret -> Files.readString(secret.resolve(UploadSecret.TOKEN)),
        List.of("x"));
  }

  @Test
  void aDiskIsTakenFromWhomTheAuthoritySignedATokenFor() throws Exception {
    var authority = Authority.make("known", Validity.ALWAYS);
    var now = Instant.now();
    var good = UploadToken.of("shop", "root", "1", now);
    takes(
        UploadSecret.make("platter-fill-1", authority),
        _ -> good.signed(authority.key()),
        List.of(
            UploadToken.of("shop", "other", "2", now).signed(authority.key()),
            UploadToken.of("shop", "root", "1", now.minusSeconds(600)).signed(authority.key()),
            good.signed(Authority.make("known", Validity.ALWAYS).key())));
  }

  /** Reads a token. */
  private interface Tokens {
    String of(Path secret) throws IOException;
  }

  private void takes(Map<String, byte[]> files, Tokens good, List<String> bad) throws Exception {
    var secret = Files.createDirectory(work.resolve("secret"));
    for (var file : files.entrySet()) {
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
    for (var token : bad) {
      var header = "Authorization: Bearer " + token;
      assertThat(curl(secret, port, url + "/disk", "-T", disk, "-H", header).out())
          .contains("\"Token\"");
    }
    assertThat(done).isNotDone();
    var header = "Authorization: Bearer " + good.of(secret);
    var sent = curl(secret, port, url + "/disk", "-T", disk, "-H", header);
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

  /** As thick LVM and SANs give them: with what a volume held that was deleted. */
  @Test
  void aDeviceThatWasMadeForADiskIsTakenWhateverIsOnItAndByTheNextPodToo() throws Exception {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var old = work.resolve("old");
    Shell.run("sh", "-c", "head -c 8M /dev/urandom > " + old);
    try (var device = LoopDevice.attach(old);
        var web = FileServer.http(work)) {
      volume = device.path();
      var source = web.url("disk.qcow2");
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(
              () ->
                  FillRun.run(
                      wanted(source, Optional.of(Digest.of(new byte[1])), null, 0), environment()));
      assertThat(result().reason()).isEqualTo("Refused");
      FillRun.run(wanted(source, Optional.empty(), null, 0), environment("next"));
      assertThat(result().reason()).isEqualTo("Filled");
      Shell.run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", volume, disk);
    }
  }

  /** What stands in the ConfigMap platter-images, and the claim's own beside it. */
  @Test
  void aServerOfAnAuthorityThatTheOperatorTrustsIsTrusted() throws Exception {
    var certificates = Certificates.make(Files.createDirectory(work.resolve("keys")));
    try (var server = FileServer.https(work, certificates)) {
      var name = "127.0.0.1_" + server.port() + ".crt";
      var wanted = wanted(server.url("disk.qcow2"), Optional.empty(), null, 0);
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> FillRun.run(wanted, trusting("other.example.crt", certificates)));
      FillRun.run(wanted, trusting(name, certificates));
      isThere();
      var containers = work.resolve("home/.config/containers");
      assertThat(containers.resolve("certs.d").resolve(name)).exists();
      assertThat(containers.resolve("x.crt")).as("it leaves its directory").doesNotExist();
    }
  }

  private Map<String, String> trusting(String name, Certificates certificates) throws IOException {
    var authorities = Map.of(name, Files.readString(certificates.ca()), "../x.crt", "no name");
    var out = new HashMap<>(environment());
    out.put("PLATTER_AUTHORITIES", new ObjectMapper().writeValueAsString(authorities));
    return out;
  }

  @Test
  void theFilesOfAnArchiveAreBrought() throws Exception {
    Shell.run(
        "sh",
        "-ec",
        "cd %s; mkdir -p tree/a; echo 1 > tree/a/b; ln -s a tree/c; tar -cf x.tar.zst --zstd -C tree ."
            .formatted(work));
    var tar = work.resolve("x.tar.zst");
    try (var open = FileServer.http(work)) {
      var digest = Digest.of(Files.readAllBytes(tar));
      var url = open.url("x.tar.zst");
      FillRun.run(wanted(url, Optional.of(digest), Format.TAR, null, 0), environment());
      assertThat(result().digest()).isEqualTo(digest.toString());
    }
    Shell.run(
        "diff", "-r", "--no-dereference", "-x", "disk.img.json", work.resolve("tree"), volume);
  }

  /** What only a node has, and clouds for their machines. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://127.0.0.1:1/disk",
        "http://169.254.169.254/latest/",
        "http://100.100.100.200/latest/",
        "http://[fd00:ec2::254]/latest/",
        "docker://169.254.169.254/disk:1",
        "s3://bucket/key"
      })
  void whatIsNoServerForPodsIsNotAskedThoughItWasNamed(String source) {
    var unsaid =
        Map.of(
            "HOME", work.resolve("home").toString(), "AWS_ENDPOINT_URL", "http://169.254.169.254");
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> FillRun.run(wanted(source, Optional.empty(), null, 0), unsaid))
        .withMessageContaining("refused to go to");
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

  private Path cdiSecret() throws IOException {
    var login = Files.createDirectory(work.resolve("login"));
    Files.writeString(login.resolve("accessKeyId"), "alice");
    Files.writeString(login.resolve("secretKey"), "orchid");
    return login;
  }

  @Test
  void aSecretThatWasWrittenForCdiOpensAWebServer() throws Exception {
    var login = cdiSecret();
    try (var open = FileServer.http(work);
        var locked =
            open.requiring(new FileServer.Header("Authorization", "Basic YWxpY2U6b3JjaGlk"))) {
      FillRun.run(wanted(locked.url("disk.qcow2"), Optional.empty(), login, 0), environment());
      isThere();
    }
  }

  @Test
  void aSecretThatWasWrittenForCdiOpensARegistry() throws Exception {
    try (var registry = Registry.start("127.0.0.1", Map.of("alice", "orchid"))) {
      Shell.run("umoci", "init", "--layout", work.resolve("layout"));
      Shell.run("umoci", "new", "--image", work.resolve("layout") + ":1");
      Shell.run("umoci", "insert", "--image", work.resolve("layout") + ":1", disk, "/disk/d.qcow2");
      Shell.run(
          "skopeo",
          "copy",
          "-q",
          "--dest-tls-verify=false",
          "--dest-creds=alice:orchid",
          "oci:" + work.resolve("layout") + ":1",
          "docker://" + registry.address() + "/disks/d:1");
      var source = "docker://" + registry.address() + "/disks/d:1";
      FillRun.run(wanted(source, Optional.empty(), cdiSecret(), 0), environment());
      Shell.run(
          "qemu-img", "compare", "-f", "raw", "-F", "qcow2", volume.resolve("disk.img"), disk);
      assertThat(result().reason()).isEqualTo("Filled");
    }
  }

  @Test
  void aSecretThatWasWrittenForCdiHasTheKeysOfAStore() throws Exception {
    var source = wanted("s3://bucket/key", Optional.empty(), cdiSecret(), 0);
    assertThat(FillHome.prepare(source, environment()))
        .containsEntry("AWS_ACCESS_KEY_ID", "alice")
        .containsEntry("AWS_SECRET_ACCESS_KEY", "orchid");
  }
}
