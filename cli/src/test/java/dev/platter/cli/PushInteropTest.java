package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Containerd;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What we push is an ordinary image to the tools of others, and the disk in it is sound. */
class PushInteropTest {
  @AutoClose static final Registry registry = Registry.start();
  @TempDir static Path work;
  private static Path disk;
  private static String image;

  @BeforeAll
  static void pushForTwoPlatforms() throws IOException {
    var bytes = new byte[3 << 20];
    new Random(9).nextBytes(bytes);
    Files.write(work.resolve("bytes"), bytes);
    disk = work.resolve("vm.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", "-o", "cluster_size=4k", disk, "1G");
    Shell.run(
        "qemu-io", "-f", "qcow2", "-c", "write -q -s " + work.resolve("bytes") + " 700M 3M", disk);
    image = registry.address() + "/interop/vm:1";
    assertThat(Platter.run("push", disk, image, "--platform", "linux/amd64").err()).isEmpty();
    assertThat(Platter.run("push", disk, image, "--platform", "linux/arm64", "--append").status())
        .isZero();
  }

  private static void assertDisk(Path root) {
    var file = root.resolve("disk/disk.qcow2");
    assertThat(Shell.run("qemu-img", "check", "-f", "qcow2", file))
        .contains("No errors were found");
    Shell.run("qemu-img", "compare", "-f", "qcow2", "-F", "qcow2", file, disk);
    // KubeVirt takes the one file in /disk and reads it as qemu, which is 107.
    assertThat(Shell.run("stat", "-c", "%u:%g %a", file, root.resolve("disk")))
        .isEqualTo("107:107 444\n107:107 555\n");
    assertThat(Shell.run("ls", "-A", root.resolve("disk"))).isEqualTo("disk.qcow2\n");
  }

  @Test
  void skopeoCopiesItAndUmociUnpacksIt() {
    assumeTrue(root(), "umoci sets owners, which needs root");
    var here = Shell.shell().in(work);
    here.check(
        "skopeo",
        "--override-arch=arm64",
        "copy",
        "-q",
        "--src-tls-verify=false",
        "docker://" + image,
        "oci:copy:v1");
    here.check("umoci", "unpack", "--image", "copy:v1", "bundle");
    assertDisk(work.resolve("bundle/rootfs"));
  }

  @Test
  void containerdPullsItForEachPlatform() {
    assumeTrue(root(), "containerd needs root");
    for (var platform : new String[] {"linux/amd64", "linux/arm64"}) {
      try (var containerd = Containerd.start()) {
        assertDisk(containerd.pull(image, platform));
      }
    }
  }

  private static boolean root() {
    return System.getProperty("user.name").equals("root");
  }
}
