package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Console;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command as QEMU's and libiscsi's tools, an HTTP client and a signal find it. */
class ServeTest {
  private static final int MIB = 1 << 20;
  private static final String TARGET = "iqn.2024-01.dev.platter:disk";
  private static final Map<String, String> CREDENTIALS =
      Map.of(
          "PLATTER_HEALTH", "127.0.0.1:0",
          "PLATTER_CHAP_USER", "vm",
          "PLATTER_CHAP_SECRET", "first-secret-of-the-vm",
          "PLATTER_CHAP_MUTUAL_USER", "platter",
          "PLATTER_CHAP_MUTUAL_SECRET", "secret-of-the-target");
  private static final String LOGIN = "vm%first-secret-of-the-vm@";
  private static final String PROOF = "?target_user=platter&target_password=secret-of-the-target";

  @TempDir Path work;
  private Path disks;
  private Path raw;
  private Path log;
  private Process process;

  @BeforeEach
  void makeDisks() throws IOException {
    disks = Files.createDirectory(work.resolve("disks"));
    raw = work.resolve("disk.raw");
    var bytes = new byte[8 * MIB];
    new Random(7).nextBytes(bytes);
    Files.write(raw, bytes);
    Shell.run("truncate", "-s", 64 * MIB, raw);
    log = work.resolve("log");
  }

  @AfterEach
  void end() {
    if (process != null) {
      process.destroyForcibly();
    }
  }

  /** Returns the URL of its first disk. */
  private String serve(Map<String, String> environment, Object... args) throws IOException {
    var temporary = Files.createDirectories(work.resolve("tmp"));
    var all = new HashMap<>(environment);
    all.put("TMPDIR", temporary.toString());
    var words = new ArrayList<Object>(List.of("serve", "--listen", "127.0.0.1:0"));
    words.addAll(List.of(args));
    process = Platter.start(all, log, words.toArray());
    return Console.at(log, process::isAlive)
        .await("(iscsi|nbd)://\\S+/0 ", Duration.ofSeconds(60))
        .split(" ")[0];
  }

  private int stop() throws InterruptedException {
    process.destroy();
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  private static String as(String who, String url, String more) {
    return url.replace("iscsi://", "iscsi://" + who) + more;
  }

  private static int login(String who, String url, String more) {
    return Shell.shell().execute("iscsi-inq", as(who, url, more)).status();
  }

  private static String qemuIo(String url, String... commands) {
    var words = new ArrayList<Object>(List.of("qemu-io", "-f", "raw"));
    for (var command : commands) {
      words.addAll(List.of("-c", command));
    }
    words.add(url);
    return Shell.run(words.toArray());
  }

  @Test
  void theDisksOfADirectoryAreReadAndWrittenByThoseWhoKnowTheSecretAndStayAsTheyWere()
      throws Exception {
    var qcow2 = disks.resolve("a.qcow2");
    Shell.run("qemu-img", "convert", "-c", "-O", "qcow2", raw, qcow2);
    Files.copy(raw, disks.resolve("b.raw"));
    var before = Shell.run("sha256sum", qcow2);

    var url = serve(CREDENTIALS, disks);
    assertThat(get(ready())).isEqualTo(200);
    assertThat(get(ready().resolve("/livez"))).isEqualTo(200);
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", as(LOGIN, url, ""), raw);
    var second = url.replaceAll("0$", "1");
    Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", as(LOGIN, second, ""), raw);
    qemuIo(as(LOGIN, url, ""), "write -P 0x33 1M 1M", "write -P 0x44 512 512", "flush");
    assertThat(qemuIo(as(LOGIN, url, ""), "read -P 0x33 1M 1M", "read -P 0x44 512 512"))
        .doesNotContain("failed");

    assertThat(login(LOGIN, url, PROOF)).isZero();
    assertThat(login(LOGIN, url, PROOF.replace("secret", "untruth"))).isNotZero();
    assertThat(login("vm%second-secret-of-the-vm@", url, "")).isNotZero();
    assertThat(login("", url, "")).isNotZero();
    assertThat(login("platter%secret-of-the-target@", url, "")).as("reflected").isNotZero();
    assertThat(Files.readString(Path.of("/proc/" + process.pid() + "/cmdline")))
        .doesNotContain("secret");

    assertThat(stop()).isEqualTo(128 + 15);
    assertThat(work.resolve("tmp")).isEmptyDirectory();
    assertThat(Shell.run("sha256sum", qcow2)).isEqualTo(before);
    assertThat(Files.readString(log))
        .contains("/disk/1 ".replace("/disk", TARGET))
        .doesNotContain("secret");

    var again = new HashMap<>(CREDENTIALS);
    again.put("PLATTER_CHAP_SECRET", "second-secret-of-the-vm");
    var next = serve(again, disks);
    assertThat(login(LOGIN, next, "")).as("of the start before").isNotZero();
    Shell.run(
        "qemu-img",
        "compare",
        "-f",
        "raw",
        "-F",
        "raw",
        as("vm%second-secret-of-the-vm@", next, ""),
        raw);
  }

  @Test
  void imagesAreServedAsTheyAreReadAndForgottenAtTheEnd() throws Exception {
    try (var registry = Registry.start()) {
      var image = registry.address() + "/disks/one:1";
      assertThat(Platter.run("push", raw, image).status()).isZero();
      var left = leftover("platter-serve-1");
      var held = leftover("platter-serve-2");
      var theirs = Files.createDirectories(work.resolve("tmp/platter-serve-cache/images"));
      FileMutex.tryTake(new StateLayout(left, left).imagesLock()).orElseThrow().close();
      String url;
      try (var _ = FileMutex.tryTake(new StateLayout(held, held).imagesLock()).orElseThrow()) {
        Shell.run("touch", "-d", "1 hour ago", left, held, theirs.getParent());
        url = serve(Map.of(), "--nbd", image, image);
      }
      assertThat(left).as("of a process that was killed").doesNotExist();
      assertThat(held).as("of another process").exists();
      assertThat(theirs).as("of nobody that Platter knows").exists();
      var all = Files.size(raw);
      assertThat(Shell.run("nbdinfo", "--size", url).strip()).isEqualTo(String.valueOf(all));
      Shell.run("qemu-io", "-f", "raw", "-c", "write -P 0x55 4k 4k", url);
      var other = url.replaceAll("0$", "1");
      Shell.run("qemu-img", "compare", "-f", "raw", "-F", "raw", other, raw);
      assertThat(Shell.run("qemu-io", "-r", "-f", "raw", "-c", "read -P 0x55 4k 4k", url))
          .doesNotContain("failed");
      stop();
      assertThat(work.resolve("tmp"))
          .isDirectoryNotContaining(file -> !file.equals(held) && !theirs.startsWith(file));
    }
  }

  private Path leftover(String name) throws IOException {
    var directory = work.resolve("tmp").resolve(name);
    Files.createDirectories(directory.resolve("images"));
    return directory;
  }

  private URI ready() {
    return URI.create(
        Console.at(log, process::isAlive).await("http://\\S+/readyz", Duration.ofSeconds(20)));
  }

  private static int get(URI uri) throws Exception {
    try (var client = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(uri).build();
      return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
    }
  }

  private Platter.Result refused(Object... more) {
    var words = new ArrayList<Object>(List.of("serve", "--listen", "127.0.0.1:0"));
    words.addAll(List.of(more));
    return Platter.run(words.toArray());
  }

  @Test
  void whatIsNoDiskIsRefusedInWords() throws IOException {
    var none = refused(disks);
    assertThat(none.status()).isEqualTo(4);
    assertThat(none.err()).contains("there is no disk in " + disks);

    Files.createSymbolicLink(disks.resolve("a.qcow2"), Path.of("/etc/passwd"));
    var link = refused(disks);
    assertThat(link.status()).isEqualTo(7);
    assertThat(link.err()).contains("a.qcow2 is a symbolic link");
    Files.delete(disks.resolve("a.qcow2"));

    Shell.run(
        "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", raw, disks.resolve("b"));
    var backed = refused(disks);
    assertThat(backed.status()).isEqualTo(7);
    assertThat(backed.err()).contains("/b is refused: ", "backing");

    var nowhere = refused(disks, "--work-dir", work.resolve("none"));
    assertThat(nowhere.status()).isEqualTo(6);
    assertThat(nowhere.err()).contains("--work-dir");
  }

  @Test
  void nothingIsOpenToEverybodyUnlessThatIsMeant() throws IOException {
    Files.copy(raw, disks.resolve("a.raw"));
    var result = Platter.run("serve", disks);
    assertThat(result.status()).isEqualTo(3);
    assertThat(result.err()).contains("PLATTER_CHAP_SECRET", "--open");
  }
}
