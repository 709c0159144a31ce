package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.Console;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.PlatterImage;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirt;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The image that serves its disks: with one of buildah, and one of {@code platter build}. */
class DiskImageTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SECRET = "words-that-nobody-may-see";

  /** As a runtime would start it: the image's files, user, environment and command. */
  private static final String CONTAINER =
      """
      set -eu
      root=$1 user=$2
      shift 2
      mount -t proc proc "$root/proc"
      mount --rbind /dev "$root/dev"
      exec chroot --userspec="$user" "$root" "$@"
      """;

  @TempDir Path work;
  private Shell buildah;
  private Process container;

  @BeforeAll
  static void needsRoot() throws IOException {
    assumeTrue((int) Files.getAttribute(Path.of("/proc/self"), "unix:uid") == 0, "needs root");
  }

  @BeforeEach
  void storage() throws IOException {
    var settings = work.resolve("storage.conf");
    Files.writeString(
        settings,
        "[storage]\ndriver = \"vfs\"\ngraphroot = \"%1$s/store\"\nrunroot = \"%1$s/run\"\n"
            .formatted(work));
    buildah = Shell.shell().with("CONTAINERS_STORAGE_CONF", settings.toString());
  }

  @AfterEach
  void end() throws Exception {
    if (container != null) {
      container.destroyForcibly().waitFor();
    }
    new PrivateLibvirt(work.resolve("s/libvirt"), work.resolve("s/run/libvirt")).stop();
    // The daemon of this state would stay for as long as a user might want another.
    Shell.shell().execute("pkill", "-f", work.resolve("s").toString());
    Shell.run("rm", "-rf", work.resolve("store"), work.resolve("bundle"));
  }

  @Test
  void aDockerfileMakesAnImageThatAGuestBootsFromOverIscsi() throws Exception {
    Files.copy(MarkerGuest.qcow2(), work.resolve("marker.qcow2"));
    Files.writeString(
        work.resolve("Dockerfile"),
        "FROM oci-archive:%s\nADD marker.qcow2 /disk\n".formatted(PlatterImage.disk()));
    buildah.check("buildah", "bud", "-q", "--isolation", "chroot", "-t", "wrapped", work);
    buildah.check("buildah", "from", "-q", "--name", "serving", "wrapped");
    var root = Path.of(buildah.check("buildah", "mount", "serving").out().strip());
    var config =
        JSON.readTree(buildah.check("buildah", "inspect", "--type", "image", "wrapped").out())
            .at("/OCIv1/config");

    var url = start(root, config);
    boot(URI.create(url.split(" ")[0]).getPort());
    var status = Files.readString(Path.of("/proc/" + container.pid() + "/status"));
    var peak = Pattern.compile("VmHWM:\\s+(\\d+) kB").matcher(status);
    assertThat(peak.find()).isTrue();
    assertThat(Integer.parseInt(peak.group(1))).as("KiB at most").isLessThan(100 << 10);
    assertThat(status).containsPattern("Uid:\\s+65532\\s+65532");

    container.destroy();
    assertThat(container.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(root.resolve("var/tmp")).isEmptyDirectory();
    assertThat(Shell.shell().execute("grep", "-rqa", SECRET, work).status())
        .as("the secret is in a file")
        .isEqualTo(1);
  }

  /** Returns the URL of its first disk. */
  private String start(Path root, JsonNode config) throws IOException {
    var command = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c", CONTAINER));
    command.addAll(List.of("container", root.toString(), config.path("User").asText()));
    config.path("Entrypoint").forEach(word -> command.add(word.asText()));
    command.addAll(List.of("--listen", "127.0.0.1:0", "--health", "127.0.0.1:0"));
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().clear();
    builder.environment().put("PATH", System.getenv("PATH"));
    for (var variable : config.path("Env")) {
      var pair = variable.asText().split("=", 2);
      builder.environment().put(pair[0], pair[1]);
    }
    builder.environment().put("PLATTER_CHAP_USER", "vm");
    builder.environment().put("PLATTER_CHAP_SECRET", SECRET);
    var log = work.resolve("container.log");
    container = builder.redirectOutput(Redirect.to(log.toFile())).start();
    return Console.at(log, container::isAlive).await("^iscsi://\\S+/0 ", Duration.ofSeconds(60));
  }

  /** By libvirt and QEMU, who are told the secret as a user would tell them. */
  private void boot(int port) throws IOException {
    var manifest =
        """
        kind: VM
        metadata: {name: guest}
        spec:
          domain:
            memory: {guest: 128Mi}
            devices:
              disks:
              - name: root
                source:
                  iscsi:
                    host: {name: 127.0.0.1, port: %d}
                    portal: iqn.2024-01.dev.platter:disk
                    lun: 0
                    auth: {user: vm, secret: {name: chap}}
        """
            .formatted(port);
    var vm = Files.writeString(work.resolve("vm.yaml"), manifest);
    var secret = work.resolve("chap.yaml");
    Files.writeString(
        secret,
        "kind: Secret\nmetadata: {name: chap}\nstringData: {node.session.auth.password: %s}\n"
            .formatted(SECRET));
    var run = Platter.run("run", vm, "-f", secret, "--state", work.resolve("s"));
    assertThat(run.err()).as("errors").doesNotContain("platter: ");
    assertThat(run.status()).isZero();
    Files.delete(secret);
    var console = Console.at(work.resolve("s/vms/default_guest/console.log"));
    assertThat(console.await("^@@DISK sda ", Duration.ofSeconds(60))).contains("size=67108864");
    console.await("^@@READY", Duration.ofSeconds(60));
    for (var process : ProcessHandle.allProcesses().toList()) {
      assertThat(arguments(process.pid())).doesNotContain(SECRET);
    }
    assertThat(Platter.run("rm", "--force", "guest", "--state", work.resolve("s")).status())
        .isZero();
  }

  private static String arguments(long pid) throws IOException {
    var file = Path.of("/proc/" + pid + "/cmdline");
    return Files.exists(file) ? Files.readString(file) : "";
  }

  @Test
  void whatPlatterBuildsIsAnImageForContainersAndForNodes() throws Exception {
    var base = Files.createDirectory(work.resolve("base"));
    Shell.run("tar", "-xf", PlatterImage.disk(), "-C", base);
    try (var registry = Registry.start()) {
      var image = registry.address() + "/vmdisks/marker:1";
      var layout = "oci:" + work.resolve("built") + ":1";
      var digest = build(image, base);
      assertThat(build(layout, base)).as("the same wherever it goes").isEqualTo(digest);
      Shell.run(
          "skopeo",
          "copy",
          "-q",
          "--src-tls-verify=false",
          "docker://" + image,
          "oci:" + work.resolve("copy") + ":1");
      Shell.run("umoci", "unpack", "--image", work.resolve("copy") + ":1", work.resolve("bundle"));
      var root = work.resolve("bundle/rootfs");
      Shell.run("qemu-img", "compare", root.resolve("disk/marker.qcow2"), MarkerGuest.raw());
      assertThat(root.resolve("opt/platter/serve")).exists();
      var before = registry.requests().size();
      streamed(image);
      var sent = registry.requests().stream().skip(before).mapToLong(Registry.Request::bytes).sum();
      assertThat(sent).as("nothing of the base").isLessThan(Files.size(PlatterImage.disk()) / 2);
    }
  }

  /** As a node reads it that pulls nothing. */
  private void streamed(String image) throws IOException {
    var log = work.resolve("stream.log");
    var environment = Map.of("TMPDIR", work.toString());
    container = Platter.start(environment, log, "serve", "--nbd", "--listen", "127.0.0.1:0", image);
    var line = Console.at(log, container::isAlive).await("^nbd://\\S+ ", Duration.ofSeconds(60));
    Shell.run("qemu-img", "compare", "-f", "raw", line.split(" ")[0], MarkerGuest.raw());
  }

  private String build(String reference, Path base) throws IOException {
    var built =
        Platter.run(
            "build",
            MarkerGuest.qcow2(),
            "-t",
            reference,
            "-o",
            "json",
            "--work-dir",
            work,
            "--base",
            "oci:" + base + ":0.1.0");
    assertThat(built.err()).isEmpty();
    assertThat(built.status()).isZero();
    return built.json().path("digest").asText();
  }
}
