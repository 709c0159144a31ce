package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.BootTrace;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code platter push} as a user types it; skopeo and qemu-img say what came of it. */
class PushTest {
  @AutoClose static final Registry registry = Registry.start();

  @TempDir Path work;
  private Path qcow2;
  private Path raw;

  /** Some text, some noise, and holes. */
  @BeforeEach
  void makeADisk() throws IOException {
    raw = work.resolve("disk.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", raw, "32M");
    var noise = new byte[700_000];
    new Random(4).nextBytes(noise);
    Files.write(work.resolve("noise"), noise);
    Shell.run(
        "qemu-io", "-f", "raw", "-c", "write -q -s " + work.resolve("noise") + " 1M 640k", raw);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -q -P 7 20M 2M", raw);
    qcow2 = work.resolve("disk.qcow2");
    Shell.run("qemu-img", "convert", "-c", "-O", "qcow2", raw, qcow2);
  }

  private String reference(String name) {
    return registry.address() + "/" + name;
  }

  private Platter.Result push(Path disk, String reference, Object... more) {
    return Platter.run(
        Stream.concat(
                Stream.of("push", disk, reference, "--work-dir", work, "-o", "json"),
                Stream.of(more))
            .toArray());
  }

  private JsonNode pushed(Path disk, String reference, Object... more) throws IOException {
    var result = push(disk, reference, more);
    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    return result.json();
  }

  private static String inspect(String reference, String format, String architecture) {
    return Shell.run(
            "skopeo",
            "--override-os=linux",
            "--override-arch=" + architecture,
            "inspect",
            "--tls-verify=false",
            "--format",
            format,
            "docker://" + reference)
        .strip();
  }

  @Test
  void aRawDiskAndItsQcow2AreTheSameImage() throws IOException {
    var fromRaw = pushed(raw, reference("same:raw"));
    var fromQcow2 = pushed(qcow2, reference("same:qcow2"));
    assertThat(fromQcow2.get("digest")).isEqualTo(fromRaw.get("digest"));
    assertThat(inspect(reference("same:qcow2"), "{{.Digest}} {{.Os}}/{{.Architecture}}", "amd64"))
        .startsWith(fromRaw.get("digest").asText() + " linux/");
    assertThat(fromRaw.get("virtualSize").asLong()).isEqualTo(32 << 20);
    assertThat(fromRaw.get("sent").asLong()).isEqualTo(fromRaw.get("layerSize").asLong());
    assertThat(fromQcow2.get("sent").asLong()).as("the registry has the layer").isZero();
  }

  @Test
  void peopleAreToldWhatToDoNext() throws IOException {
    var result = Platter.run("push", raw, reference("told:1"), "--work-dir", work);
    assertThat(result.err()).as("quiet where nobody looks").isEmpty();
    var example = result.out().lines().reduce("", (_, last) -> last).strip();
    assertThat(example).startsWith("echo 'disks: ").endsWith("' | platter run -");
    var manifest = work.resolve("vm.yaml");
    Files.writeString(manifest, example.split("'", -1)[1]);
    assertThat(Platter.run("plan", manifest, "--state", work.resolve("s")).out())
        .contains("ensure image " + reference("told:1"));
  }

  @Test
  void aTagMovesUnlessOtherPlatformsAreToStay() throws IOException {
    var name = reference("multi:1");
    var amd = pushed(raw, name, "--platform", "linux/amd64");
    var arm = pushed(raw, name, "--platform", "linux/arm64/v8", "--append");
    assertThat(inspect(name, "{{.Architecture}}", "amd64")).isEqualTo("amd64");
    assertThat(inspect(name, "{{.Architecture}}", "arm64")).isEqualTo("arm64");
    var index = Shell.run("skopeo", "inspect", "--raw", "--tls-verify=false", "docker://" + name);
    assertThat(index).contains(amd.get("digest").asText(), arm.get("digest").asText(), "\"v8\"");
    assertThat(arm.get("sent").asLong()).as("one layer serves both").isZero();
    pushed(raw, name, "--platform", "linux/s390x");
    assertThat(inspect(name, "{{.Architecture}}", "s390x")).isEqualTo("s390x");
    assertThat(Shell.run("skopeo", "inspect", "--raw", "--tls-verify=false", "docker://" + name))
        .doesNotContain(amd.get("digest").asText());
  }

  @Test
  void aLayoutIsATargetToo() throws IOException {
    var layout = "oci:" + work.resolve("layout") + ":v1";
    var amd = pushed(qcow2, layout, "--platform", "linux/amd64");
    var arm = pushed(qcow2, layout, "--platform", "linux/arm64", "--append");
    for (var architecture : List.of("amd64", "arm64")) {
      var copy = work.resolve(architecture);
      Shell.run("skopeo", "--override-arch=" + architecture, "copy", "-q", layout, "dir:" + copy);
      assertThat(Shell.run("skopeo", "manifest-digest", copy.resolve("manifest.json")).strip())
          .isEqualTo((architecture.equals("amd64") ? amd : arm).get("digest").asText());
    }
    assertThat(amd.has("sent")).isFalse();
  }

  @Test
  void aBlobOfAnotherRepositoryIsMounted() throws IOException {
    pushed(raw, reference("from/here:1"));
    var mounted = pushed(raw, reference("to/there:1"), "--mount-from", "from/here");
    assertThat(mounted.get("sent").asLong()).isZero();
    assertThat(registry.requests()).anyMatch(r -> r.path().contains("mount=") && r.status() == 201);
  }

  @Test
  void aBootTraceOrdersTheLayerAndIsNamedInIt() throws IOException {
    var trace = BootTrace.of(32 << 20, 20 << 4, 16, (20 << 4) + 1);
    Files.write(work.resolve("trace"), trace.toBytes());
    var layout = "oci:" + work.resolve("layout") + ":v1";
    pushed(raw, layout, "--boot-trace", work.resolve("trace"));
    var here = Shell.shell().in(work);
    here.check("umoci", "unpack", "--image", "layout:v1", "bundle");
    var file = work.resolve("bundle/rootfs/disk/disk.qcow2");
    Shell.run("qemu-img", "compare", "-f", "qcow2", "-F", "raw", file, raw);
    var offsets = new HashMap<Long, Long>();
    for (var extent : new ObjectMapper().readTree(map(file))) {
      offsets.put(extent.get("start").asLong(), extent.path("offset").asLong());
    }
    var first = offsets.get(20L << 20);
    assertThat(offsets).containsEntry(1L << 20, first + BootTrace.BLOCK);
    assertThat(offsets).containsEntry((20L << 20) + BootTrace.BLOCK, first + 2 * BootTrace.BLOCK);
    var manifest = Shell.run("skopeo", "inspect", "--raw", layout);
    var digest = Shell.run("sha256sum", work.resolve("trace")).substring(0, 64);
    assertThat(manifest).contains("\"dev.platter.boot-trace.digest\":\"sha256:" + digest);
  }

  private static String map(Path file) {
    return Shell.run("qemu-img", "map", "-f", "qcow2", "--output=json", file);
  }

  @Test
  void aRawDiskThatLooksLikeAQcow2IsTakenAtTheUsersWord() throws IOException {
    Shell.run("dd", "if=" + qcow2, "of=" + raw, "bs=1M", "count=1", "conv=notrunc");
    var disk = pushed(raw, reference("word:1"), "--format", "raw");
    assertThat(disk.get("virtualSize").asLong()).isEqualTo(32 << 20);
    var layout = "oci:" + work.resolve("layout") + ":v1";
    pushed(raw, layout, "--format", "raw");
    Shell.shell().in(work).check("umoci", "unpack", "--image", "layout:v1", "bundle");
    Shell.run(
        "qemu-img",
        "compare",
        "-f",
        "qcow2",
        "-F",
        "raw",
        work.resolve("bundle/rootfs/disk/disk.qcow2"),
        raw);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "missing | vm:1 | --threads=1 | 4 | there is no file",
        "dir | vm:1 | --threads=1 | 3 | not a regular file",
        "disk.vmdk | vm:1 | --threads=1 | 7 | it is a VMDK",
        "backed.qcow2 | vm:1 | --threads=1 | 7 | backing file",
        "disk.raw | vm:1 | --threads=0 | 3 | --threads",
        "disk.raw | vm:1 | --platform=linux | 3 | is no platform",
        "disk.raw | vm:1 | --name=../up | 3 | cannot be the name of a disk",
        "disk.raw | vm:1 | --mount-from=A/../b | 3 | is not an image reference",
        "disk.raw | vm:1 | --boot-trace=WORK/missing | 4 | there is no file",
        "disk.raw | vm:1 | --boot-trace=WORK/noise | 7 | this is no boot trace",
        "disk.raw | vm:1 | --boot-trace=WORK/other-trace | 7 | of a disk of 65536 bytes",
        "disk.raw | vm:1 | --work-dir=WORK/missing | 6 | --work-dir names a directory",
        "disk.raw | VM | --threads=1 | 3 | is no repository name",
        "disk.raw | oci:x | --threads=1 | 3 | names no tag",
        "disk.raw | vm@sha256:"
            + "0000000000000000000000000000000000000000000000000000000000000000"
            + " | --threads=1 | 3 | names a digest",
      })
  void eachMistakeIsSaidAndLeavesNothing(
      String file, String name, String option, int status, String why) throws IOException {
    Files.createDirectory(work.resolve("dir"));
    Shell.run("qemu-img", "convert", "-O", "vmdk", raw, work.resolve("disk.vmdk"));
    Shell.run(
        "qemu-img",
        "create",
        "-q",
        "-f",
        "qcow2",
        "-F",
        "raw",
        "-b",
        raw,
        work.resolve("backed.qcow2"));
    Files.write(work.resolve("other-trace"), BootTrace.of(1 << 16, 0).toBytes());
    var target = name.startsWith("oci:") ? name : reference(name);
    var before = registry.requests().size();
    var result =
        Platter.run("push", work.resolve(file), target, option.replace("WORK", work.toString()));
    assertThat(result.err()).contains(why);
    assertThat(result.status()).isEqualTo(status);
    assertThat(result.out()).isEmpty();
    assertThat(registry.requests()).hasSize(before);
  }

  @Test
  void aRegistryThatIsNotThereIsSaidToBe() {
    var result = push(raw, "127.0.0.1:1/vm:1");
    assertThat(result.status()).isEqualTo(6);
    assertThat(result.err()).contains("cannot reach http://127.0.0.1:1", "Push again");
  }
}
