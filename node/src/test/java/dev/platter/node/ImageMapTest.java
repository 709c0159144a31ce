package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.FileServer;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names of images that the owner of a machine gave, in a directory of maps. */
class ImageMapTest {
  @TempDir Path work;
  private Path maps;
  private Path root;

  @BeforeEach
  void makeDirectories() throws IOException {
    maps = Files.createDirectory(work.resolve("images.d"));
    root = Files.createDirectory(work.resolve("root"));
  }

  private StateLayout layout() {
    return new StateLayout(work.resolve("state"), work.resolve("run"));
  }

  private String pull(String name) throws IOException {
    var config =
        new NodeConfig(layout(), Optional.of("test:///default"), Optional.of("localhost:1"))
            .withImageMaps(List.of(maps));
    try (var node = LocalNode.open(config, Progress.NONE)) {
      return node.pull(name);
    }
  }

  private void map(String file, String text) throws IOException {
    Files.writeString(maps.resolve(file), text);
  }

  private Path disk(int pattern) {
    var file = root.resolve("disk" + pattern + ".qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", file, "8M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P " + pattern + " 1M 1M", file);
    return file;
  }

  private void compare(Path disk, String digest) {
    Shell.run("qemu-img", "compare", "-f", "qcow2", "-F", "raw", disk, layout().base(digest));
  }

  @Test
  void namesLeadToTheWebWithOrWithoutTheirTag() throws IOException {
    var one = disk(1);
    var two = disk(2);
    try (var server = FileServer.http(root)) {
      map("b.yaml", "translations: [{name: 'os/one:new', url: '%s'}]".formatted(server.url("x")));
      map(
          "a.yaml",
          """
          translations:
          - regexp: 'os/(.*)'
            url: %s
          - name: os/one
            url: %s
          - name: os/one:new
            url: %s
          """
              .formatted(server.url("$1"), server.url("disk1.qcow2"), server.url("disk2.qcow2")));
      map("notes.txt", "no YAML: [");
      compare(one, pull("os/one"));
      compare(one, pull("os/one:12"));
      compare(two, pull("os/one:new"));
      compare(two, pull("os/disk2.qcow2"));
      var sum = Shell.run("sha256sum", one).substring(0, 64);
      compare(one, pull("os/one:12@sha256:" + sum));
      var wrong =
          catchThrowableOfType(PlatterException.class, () -> pull("os/one:new@sha256:" + sum));
      assertThat(wrong.code()).isEqualTo(Code.REFUSED);
      var strange = catchThrowableOfType(PlatterException.class, () -> pull("os/a b"));
      assertThat(strange.code()).isEqualTo(Code.INVALID);
    }
  }

  @Test
  void namesLeadToARegistryOrALayout() throws IOException {
    var disk = disk(3);
    var layout = work.resolve("layout");
    var image = new OciLayoutWriter(layout).add("t", Platform.LINUX_AMD64, "d.qcow2", disk);
    try (var registry = Registry.start()) {
      Shell.run(
          "skopeo",
          "copy",
          "-q",
          "--dest-tls-verify=false",
          "oci:" + layout + ":t",
          "docker://" + registry.address() + "/disks/three:1");
      map(
          "a.yaml",
          """
          prefix: corp
          translations:
          - {regexp: '(\\w+)-(\\d+)', url: 'docker://%s/disks/$1:$2'}
          - {name: local, url: 'oci:%s:t'}
          """
              .formatted(registry.address(), layout));
      var digest = image.digest().toString();
      assertThat(pull("corp/three-1")).isEqualTo(digest);
      assertThat(pull("corp/three-1@" + digest)).isEqualTo(digest);
      assertThat(pull("corp/local:7@" + digest)).isEqualTo(digest);
      compare(disk, digest);
      var missing = "sha256:" + "0".repeat(64);
      var wrong =
          catchThrowableOfType(PlatterException.class, () -> pull("corp/three-1@" + missing));
      assertThat(wrong.code()).isEqualTo(Code.NOT_FOUND);
    }
  }

  @Test
  void whoWritesAnAddressInPlaceOfANameIsNotTheOwner() throws IOException {
    disk(4);
    try (var server = FileServer.http(root)) {
      var url = server.url("disk4.qcow2");
      var error = catchThrowableOfType(PlatterException.class, () -> pull(url));
      assertThat(error.code()).isEqualTo(Code.INVALID);
      assertThat(error).hasMessageContaining("an address, not the name of an image");
      assertThat(server.requests()).isEmpty();
    }
  }

  @Test
  void aNameThatTheMapHasNotIsThatOfAnImageInARegistry() throws IOException {
    map("a.yaml", "translations: [{name: other, url: 'https://127.0.0.1:1/x'}]");
    var error = catchThrowableOfType(PlatterException.class, () -> pull("one"));
    assertThat(error).hasMessageContaining("localhost:1");
  }

  @Test
  void aMapThatIsNotValidIsToldWithItsLine() throws IOException {
    map("a.yaml", "translations:\n- name: x\n");
    var error = catchThrowableOfType(PlatterException.class, () -> pull("one"));
    assertThat(error.details()).singleElement().asString().contains("a.yaml:2: ");
  }
}
