package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.Digest;
import dev.platter.lab.FileServer;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What arrives is what qemu-img and gzip made; killed anywhere, the next try makes it right. */
class DiskImportTest {
  @TempDir Path dir;
  private Path raw;
  private Path web;

  @BeforeEach
  void makeDisks() throws IOException {
    raw = dir.resolve("disk.raw");
    web = Files.createDirectory(dir.resolve("web"));
    Shell.run("sh", "-c", "head -c 3M /dev/urandom >%s; truncate -s 6M %1$s".formatted(raw));
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, web.resolve("disk.qcow2"));
    Shell.run("gzip", "-1", "-k", web.resolve("disk.qcow2"));
  }

  private static NodeConfig config(Path dir) {
    var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
    return new NodeConfig(layout, Optional.empty(), Optional.empty());
  }

  private DiskImport.Done run(String source, Path target) throws IOException {
    return run(source, target, Optional.empty(), false);
  }

  private DiskImport.Done run(String source, Path target, Optional<Digest> digest, boolean replace)
      throws IOException {
    return new DiskImport(source, target, digest, null, 0, replace).run(config(dir), Progress.NONE);
  }

  private static List<String> names(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void aVolumeHasTheDiskOnceAndRemembersIt() throws IOException {
    var volume = Files.createDirectory(dir.resolve("volume"));
    try (var server = FileServer.http(web)) {
      var url = server.url("disk.qcow2.gz");
      var done = run(url, volume);
      assertThat(done.already()).isFalse();
      assertThat(Shell.run("sha256sum", web.resolve("disk.qcow2.gz")))
          .startsWith(done.digest().substring("sha256:".length()));
      Shell.run("cmp", raw, volume.resolve("disk.img"));
      assertThat(names(volume)).containsExactly("disk.img", "disk.img.json");
      var requests = server.requests().size();
      assertThat(run(url, volume).already()).isTrue();
      assertThat(server.requests()).hasSize(requests);
      assertThatThrownBy(() -> run(server.url("disk.qcow2"), volume))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("holds " + url);
      Shell.run("sh", "-c", "echo guest | dd conv=notrunc of=%s/disk.img".formatted(volume));
      run(server.url("disk.qcow2"), volume, Optional.empty(), true);
      Shell.run("cmp", raw, volume.resolve("disk.img"));
    }
  }

  @Test
  void anotherDigestOrAnotherQueryIsAnotherDisk() throws IOException {
    var volume = Files.createDirectory(dir.resolve("volume"));
    try (var server = FileServer.http(web)) {
      var url = server.url("disk.qcow2");
      run(url, volume);
      Shell.run("sh", "-c", "echo guest | dd conv=notrunc of=%s/disk.img".formatted(volume));
      var before = Shell.run("sha256sum", volume.resolve("disk.img"));
      var other = Optional.of(Digest.of(new byte[0]));
      assertThatThrownBy(() -> run(url, volume, other, false)).hasMessageContaining("holds " + url);
      assertThatThrownBy(() -> run(url + "?id=2", volume)).hasMessageContaining("holds " + url);
      assertThat(Shell.run("sha256sum", volume.resolve("disk.img"))).isEqualTo(before);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://user:hidden@127.0.0.1:1/disk.raw?X-Signature=hidden",
        "http://127.0.0.1:1/disk.raw?X-Signature=|hidden",
        "http://127.0.0.1:1/disk.raw?X-Signature=%hidden",
        "http://us er:hidden@127.0.0.1:1/disk.raw"
      })
  void secretsOfAnAddressAreNotTold(String source) {
    assertThatThrownBy(() -> run(source, dir.resolve("out.raw")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("http://127.0.0.1:1/disk.raw")
        .hasMessageNotContaining("hidden")
        .satisfies(
            e ->
                assertThat(Stream.iterate(e, Objects::nonNull, Throwable::getCause))
                    .noneMatch(it -> String.valueOf(it.getMessage()).contains("hidden")));
  }

  /** An image of this machine's, with what a shell puts into it. */
  private String image(String script) {
    Shell.run(
        "sh",
        "-euc",
        "cd $0; umoci init --layout oci; umoci new --image oci:1; "
            + "put() { umoci insert --image oci:1 \"$1\" \"$2\"; }; "
            + script,
        dir);
    return "oci:" + dir.resolve("oci") + ":1";
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"true", "echo 1 > other; put other /other", ": > empty; put empty /disk/x"})
  void anImageWithoutAByteOfADiskLeavesNothing(String script) throws IOException {
    var image = image(script);
    assertThatThrownBy(() -> run(image, dir.resolve("out.raw")))
        .isInstanceOf(PlatterException.class);
    assertThat(dir.resolve("out.raw")).doesNotExist();
    assertThat(names(dir)).noneMatch(name -> name.endsWith(".part"));
  }

  /** QEMU would open what it says. */
  @Test
  void aNameInAnImageIsOnlyAName() throws IOException {
    var image =
        image("put web/disk.qcow2 '/disk/json:{\"driver\":\"raw\",\"file.filename\":\"x\"}'");
    run(image, dir.resolve("out.raw"));
    Shell.run("cmp", raw, dir.resolve("out.raw"));
    var named = dir.resolve("json:{\"file.filename\":\"x\"}");
    Files.copy(web.resolve("disk.qcow2"), named);
    run(named.toString(), dir.resolve("other.raw"));
    Shell.run("cmp", raw, dir.resolve("other.raw"));
  }

  @Test
  void anAddressIsKnownByItsQueryToo() {
    var source = "http://127.0.0.1:1/disk.raw?X-Signature=hidden";
    assertThat(WebName.known(source))
        .startsWith("http://127.0.0.1:1/disk.raw?sha256:")
        .isNotEqualTo(WebName.known(source + "2"));
  }

  @Test
  void aQcow2InAnyOrderIsReadByRanges() throws IOException {
    var late = web.resolve("late.qcow2");
    Shell.run("qemu-img", "create", "-f", "qcow2", "-o", "preallocation=metadata", late, "80M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 7 70M 64k", late);
    Shell.run("qemu-img", "resize", "-f", "qcow2", late, "2G");
    try (var server = FileServer.http(web)) {
      run(server.url("late.qcow2"), dir.resolve("out.raw"));
      assertThat(server.requests()).anyMatch(request -> !request.range().isEmpty());
    }
    Shell.run("qemu-img", "compare", "-f", "qcow2", "-F", "raw", late, dir.resolve("out.raw"));
  }

  @Test
  void aFileAppearsWhenItIsWholeAndNeverBefore() throws IOException {
    var out = dir.resolve("out");
    Files.createDirectory(out);
    var wrong = Optional.of(Digest.of(new byte[0]));
    assertThatThrownBy(
            () -> run(web.resolve("disk.qcow2.gz").toString(), out.resolve("a"), wrong, false))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("has the digest sha256:");
    assertThat(names(out)).isEmpty();
    run(web.resolve("disk.qcow2").toString(), out.resolve("a"));
    assertThat(names(out)).containsExactly("a");
    Shell.run("cmp", raw, out.resolve("a"));
    Files.createLink(out.resolve(".a.part"), out.resolve("a")); // killed when it had both names
    assertThatThrownBy(() -> run(web.resolve("disk.qcow2").toString(), out.resolve("a")))
        .hasMessageContaining("there is a file");
    assertThat(names(out)).containsExactly("a");
  }

  @Test
  void aDeviceWithSomebodyElsesBytesIsLeftAlone() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var file = dir.resolve("device");
    Shell.run("truncate", "-s", "8M", file);
    Shell.run("sh", "-c", "echo foreign | dd conv=notrunc seek=7 bs=1M of=" + file);
    try (var device = LoopDevice.attach(file)) {
      var source = web.resolve("disk.qcow2").toString();
      assertThatThrownBy(() -> run(source, device.path()))
          .hasMessageContaining("holds bytes that Platter has not written there");
      Shell.run("sh", "-c", "dd if=/dev/zero conv=notrunc,fsync bs=1M count=8 of=" + device.path());
      run(source, device.path());
      Shell.run("cmp", "-n", 6 << 20, raw, device.path());
      assertThat(run(source, device.path()).already()).isTrue();
    }
  }

  /** A path says nothing: another device may have it tomorrow, and this one another path. */
  @Test
  void aDeviceIsKnownByWhatItIs() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var source = web.resolve("disk.qcow2").toString();
    var ours = dir.resolve("ours");
    var others = dir.resolve("others");
    Shell.run("truncate", "-s", "8M", ours);
    Shell.run("sh", "-c", "head -c 8M /dev/urandom >" + others);
    Path path;
    try (var device = LoopDevice.attach(ours)) {
      run(source, device.path());
      path = device.path();
    }
    Shell.run("losetup", path, others);
    try {
      var before = Shell.run("sha256sum", others);
      assertThatThrownBy(() -> run(source, path, Optional.empty(), true))
          .hasMessageContaining("holds bytes that Platter has not written there");
      assertThat(Shell.run("sha256sum", others)).isEqualTo(before);
      try (var device = LoopDevice.attach(ours)) {
        assertThat(device.path()).isNotEqualTo(path);
        var link = Files.createSymbolicLink(dir.resolve("link"), device.path());
        assertThat(run(source, device.path()).already()).isTrue();
        assertThat(run(source, link).already()).isTrue();
      }
    } finally {
      Shell.run("losetup", "--detach", path);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ln -s ../secret", "mkfifo", "mkdir", "ln -s /dev/null"})
  void aVolumeWhoseDiskIsNoFileIsLeftAlone(String made) throws IOException {
    var volume = Files.createDirectory(dir.resolve("volume"));
    var secret = Files.writeString(dir.resolve("secret"), "secret");
    Shell.run("sh", "-c", "cd %s; %s disk.img".formatted(volume, made));
    assertThatThrownBy(() -> run(web.resolve("disk.qcow2").toString(), volume))
        .isInstanceOf(PlatterException.class);
    assertThat(secret).hasContent("secret");
    assertThat(names(volume)).containsExactly("disk.img");
  }

  /** Halts at so many bytes: nothing is flushed, no hook runs, no lock is given back. */
  static final class Killed {
    private Killed() {}

    public static void main(String[] args) throws IOException {
      long at = Long.parseLong(args[3]);
      new DiskImport(args[1], Path.of(args[2]), Optional.empty(), null, 0, false)
          .run(
              config(Path.of(args[0])),
              new Progress() {
                @Override
                public void bytes(String what, long done, long total) {
                  if (done >= at) {
                    Runtime.getRuntime().halt(9);
                  }
                }
              });
    }
  }

  @Test
  void whateverWasKilledIsMadeRightByTheNextTry() throws Exception {
    var volume = Files.createDirectory(dir.resolve("volume"));
    var source = web.resolve("disk.qcow2.gz");
    for (long at : new long[] {1, 2_000_000, Files.size(source)}) {
      Shell.run("sh", "-c", "rm -f %s/*".formatted(volume));
      var java = Path.of(System.getProperty("java.home"), "bin", "java");
      var process =
          new ProcessBuilder(
                  java.toString(),
                  "-XX:TieredStopAtLevel=1",
                  "--enable-native-access=ALL-UNNAMED",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Killed.class.getName(),
                  dir.toString(),
                  source.toString(),
                  volume.toString(),
                  Long.toString(at))
              .redirectErrorStream(true)
              .redirectOutput(dir.resolve("log").toFile())
              .start();
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).as(Files.readString(dir.resolve("log"))).isEqualTo(9);
      var record = FillRecord.parse(Files.readString(volume.resolve("disk.img.json")));
      assertThat(record.orElseThrow().complete()).as("killed at %d", at).isFalse();
      run(source.toString(), volume);
      Shell.run("cmp", raw, volume.resolve("disk.img"));
      assertThat(names(volume)).containsExactly("disk.img", "disk.img.json");
      assertThat(
              FillRecord.parse(Files.readString(volume.resolve("disk.img.json")))
                  .orElseThrow()
                  .complete())
          .isTrue();
    }
  }
}
