package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ImageStoreTest {
  @TempDir Path work;
  private Optional<Node> opened = Optional.empty();

  private Node node(Optional<String> registry) {
    opened =
        Optional.of(
            LocalNode.open(
                new NodeConfig(layout(), Optional.of("test:///default"), registry), Progress.NONE));
    return opened.get();
  }

  @AfterEach
  void close() {
    opened.ifPresent(Node::close);
  }

  private StateLayout layout() {
    return new StateLayout(work.resolve("state"), work.resolve("run"));
  }

  private Path disk(String name, String format) {
    var file = work.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", format, file, "8M");
    Shell.run("qemu-io", "-f", format, "-c", "write -P 65 1M 1M", "-c", "write -P 66 6M 64k", file);
    return file;
  }

  private String push(Path disk) throws IOException {
    new OciLayoutWriter(work.resolve("layout"))
        .add("t", Platform.LINUX_AMD64, disk.getFileName().toString(), disk);
    return "oci:" + work.resolve("layout") + ":t";
  }

  @ParameterizedTest
  @ValueSource(strings = {"raw", "qcow2"})
  void theBaseOfAnImageFromARegistryHasTheBytesOfTheDiskThatWasPushed(String format)
      throws IOException {
    var disk = disk("disk." + format, format);
    push(disk);
    try (var registry = Registry.start()) {
      var address = registry.address() + "/vmdisks/fedora25:latest";
      Shell.run(
          "skopeo",
          "copy",
          "-q",
          "--dest-tls-verify=false",
          "oci:" + work.resolve("layout") + ":t",
          "docker://" + address);
      var digest = node(Optional.of(registry.address())).pull("vmdisks/fedora25:latest");
      assertThat(digest)
          .isEqualTo(
              Shell.run(
                      "skopeo",
                      "inspect",
                      "--tls-verify=false",
                      "--format",
                      "{{.Digest}}",
                      "docker://" + address)
                  .strip());
      var base = layout().base(digest);
      Shell.run("qemu-img", "compare", "-f", format, "-F", "raw", disk, base);
      assertThat(Long.parseLong(Shell.run("stat", "-c", "%b", base).strip()) * 512)
          .as("holes stay holes")
          .isLessThan(2 << 20);
      assertThat(Shell.run("stat", "-c", "%a", base).strip()).isEqualTo("444");
    }
  }

  @Test
  void anImageThatIsHereNeedsNoRegistry() throws IOException {
    var reference = push(disk("d.raw", "raw"));
    var node = node(Optional.empty());
    var digest = node.pull(reference);
    Shell.run("rm", "-r", work.resolve("layout"));
    node.images().ensure(reference, digest, Progress.NONE);
    assertThat(node.images().list())
        .extracting(status -> status.image().digest())
        .containsExactly(digest);
    assertThat(node.collect()).hasSize(1);
    assertThat(layout().image(digest)).doesNotExist();
  }

  @Test
  void aPinnedDigestIsFoundAfterItsTagHasMovedOn() throws IOException {
    var node = node(Optional.empty());
    var reference = push(disk("one.raw", "raw"));
    var digest = node.images().resolve(reference);
    push(disk("two.qcow2", "qcow2"));
    assertThat(node.images().resolve(reference)).isNotEqualTo(digest);
    node.images().ensure(reference, digest, Progress.NONE);
    Shell.run(
        "qemu-img",
        "compare",
        "-f",
        "raw",
        "-F",
        "raw",
        work.resolve("one.raw"),
        layout().base(digest));
  }

  @Test
  void aQcow2ThatNamesABackingFileIsRefusedAndNothingIsStored() throws IOException {
    var secret =
        Files.writeString(work.resolve("secret"), "x".repeat(1 << 20), StandardCharsets.UTF_8);
    var evil = work.resolve("evil.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", secret, evil);
    var reference = push(evil);
    var e =
        catchThrowableOfType(PlatterException.class, () -> node(Optional.empty()).pull(reference));
    assertThat(e.code()).isEqualTo(Code.REFUSED);
    assertThat(e).hasMessageContaining("backing file");
    assertThat(leftOver()).isEmpty();
  }

  @Test
  void anEmptyDiskAndAMissingTagAreRefusedWithTheReason() throws IOException {
    var reference = push(Files.createFile(work.resolve("empty.raw")));
    var node = node(Optional.empty());
    var empty = catchThrowableOfType(PlatterException.class, () -> node.pull(reference));
    assertThat(empty.code()).isEqualTo(Code.REFUSED);
    var missing =
        catchThrowableOfType(
            PlatterException.class, () -> node.pull(reference.replace(":t", ":u")));
    assertThat(missing.code()).isEqualTo(Code.NOT_FOUND);
    assertThat(missing).hasMessageContaining("has not 'u'; it has [t]");
    assertThat(leftOver()).isEmpty();
  }

  @Test
  void aRegistryThatIsNotThereIsNamed() {
    var e =
        catchThrowableOfType(
            PlatterException.class, () -> node(Optional.empty()).pull("127.0.0.1:1/a/b:c"));
    assertThat(e.code()).isEqualTo(Code.UNAVAILABLE);
    assertThat(e).hasMessageContaining("127.0.0.1:1");
  }

  @Test
  void whatAKilledPullLeftIsClearedByTheNextOne() throws IOException {
    Files.createDirectories(layout().spool().resolve("pull"));
    Files.writeString(layout().spool().resolve("pull/base.raw"), "half");
    node(Optional.empty()).pull(push(disk("d.raw", "raw")));
    assertThat(layout().spool()).doesNotExist();
  }

  private List<String> leftOver() throws IOException {
    try (var files = Files.walk(layout().images())) {
      return files
          .skip(1)
          .map(file -> file.getFileName().toString())
          .filter(name -> !name.equals("lock"))
          .toList();
    }
  }
}
