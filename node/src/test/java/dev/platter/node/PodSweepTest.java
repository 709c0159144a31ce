package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * As {@link KillSweepTest}, for a pod: a root disk that is written with files in it, and a volume
 * that is formatted on the way.
 */
class PodSweepTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static Sweep sweep;

  @BeforeAll
  static void makeImageAndForeigners() throws IOException {
    var raw = work.resolve("root.raw");
    Shell.run("truncate", "-s", "16M", raw);
    Shell.run("mke2fs", "-q", "-F", "-t", "ext4", raw);
    var qcow2 = work.resolve("root.qcow2");
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, qcow2);
    new OciLayoutWriter(work.resolve("layout")).add("t", Platform.LINUX_AMD64, "root.qcow2", qcow2);
    sweep =
        new Sweep(
            work,
            LIBVIRT,
            """
            kind: ConfigMap
            metadata: {name: files}
            data: {motd: aGVsbG8=, motd_path: /etc/motd}
            ---
            kind: Pod
            metadata:
              name: sweep
              annotations:
                kubernetes.io/target-runtime: virtlet.cloud
                VirtletFilesFromDataSource: configmap/files
            spec:
              containers:
              - {image: "oci:%s/layout:t", resources: {limits: {memory: 32Mi}}}
              volumes:
              - name: vol1
                flexVolume: {driver: virtlet/flexvolume_driver, options: {type: qcow2, capacity: 1GiB}}
            """
                .formatted(work));
    sweep.makeForeigners();
  }

  @BeforeEach
  void startForeignDomain() throws IOException {
    sweep.startForeignDomain();
  }

  @AfterAll
  static void removeForeignSecret() {
    sweep.removeForeignSecret();
  }

  @TestFactory
  Stream<DynamicTest> killedWhileItIsMade() throws IOException {
    return sweep
        .moments("before", "after", "unrecorded")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileMade(moment)));
  }

  private static void whileMade(String moment) throws Exception {
    assertThat(sweep.kill("run", moment)).as("the process died at " + moment).isTrue();
    try (var node = sweep.node()) {
      node.tidy();
      if (!node.list().isEmpty()) {
        assertRuns(node);
        node.remove(Sweep.KEY, true);
      }
      assertNothingIsLeft();
    }
    sweep.assertForeignersAreUntouched();
  }

  @TestFactory
  Stream<DynamicTest> killedWhileItIsRemoved() throws IOException {
    return sweep
        .moments("beforeUndo", "afterUndo")
        .map(
            moment ->
                DynamicTest.dynamicTest(
                    moment,
                    () -> {
                      try (var node = sweep.node()) {
                        sweep.run(node);
                      }
                      assertThat(sweep.kill("rm", moment)).isTrue();
                      try (var node = sweep.node()) {
                        node.tidy();
                        assertThat(node.list()).isEmpty();
                        assertNothingIsLeft();
                      }
                    }));
  }

  private static Path disk(String suffix) throws IOException {
    return sweep.layout().pool("volumes").resolve(sweep.uuid() + suffix);
  }

  private static void assertRuns(Node node) throws IOException {
    assertThat(node.status(Sweep.KEY).phase()).isEqualTo(VmStatus.Phase.RUNNING);
    node.stop(Sweep.KEY, java.time.Duration.ZERO);
    Shell.run("qemu-img", "check", "-q", disk("-vol1"));
    var raw = work.resolve("check.raw");
    Shell.run("qemu-img", "convert", "-O", "raw", disk("-root.qcow2"), raw);
    assertThat(Shell.run("debugfs", "-R", "cat /etc/motd", raw)).contains("hello");
    Shell.run("e2fsck", "-fn", raw);
  }

  private static void assertNothingIsLeft() throws IOException {
    sweep.assertNothingIsLeft();
    var pool = sweep.layout().pool("volumes");
    if (Files.exists(pool)) {
      try (var left = Files.list(pool)) {
        assertThat(left).isEmpty();
      }
    }
  }
}
