package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageMapOptionTest {
  @TempDir Path work;

  private record Result(int status, String out, String err) {}

  private Result plan(String maps) throws IOException {
    var vm =
        Files.writeString(
            work.resolve("vm.yaml"), "disks: [{name: root, source: {image: 'corp/disk:3'}}]\n");
    var out = new StringWriter();
    var err = new StringWriter();
    var status =
        Main.run(
            new PrintWriter(out),
            new PrintWriter(err),
            "plan",
            vm.toString(),
            "--image-map",
            maps,
            "--connect",
            "test:///default",
            "--state",
            work.resolve("s").toString());
    return new Result(status, out.toString(), err.toString());
  }

  @Test
  void imagesAreFoundByTheNamesThatMapsGiveThem() throws IOException {
    var root = Files.createDirectory(work.resolve("root"));
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", root.resolve("disk.qcow2"), "1M");
    var other = Files.writeString(work.resolve("other.yaml"), "translations: []\n");
    var maps = Files.createDirectory(work.resolve("images.d"));
    try (var server = FileServer.http(root)) {
      Files.writeString(
          maps.resolve("corp.yaml"),
          "prefix: corp\ntranslations: [{name: disk, url: '%s'}]\n"
              .formatted(server.url("disk.qcow2")));
      var planned = plan(other + "," + maps);
      assertThat(planned.err()).doesNotContain("corp/disk");
      assertThat(planned.status()).isZero();
      assertThat(planned.out()).contains("ensure image corp/disk:3 at sha256:");
    }
  }

  @Test
  void aMapThatIsMissingOrWrongIsAnError() throws IOException {
    assertThat(plan(work.resolve("missing").toString()).status()).isEqualTo(4);
    var wrong = Files.writeString(work.resolve("wrong.yaml"), "translations: [{name: x}]\n");
    var result = plan(wrong.toString());
    assertThat(result.status()).isEqualTo(3);
    assertThat(result.err()).contains("wrong.yaml:1: translations[0]: the field 'url' is missing");
  }
}
