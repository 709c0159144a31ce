package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real process is killed with SIGKILL before and after every step, forwards and backwards; then
 * the next command looks at what is left. The VM runs with the right bytes, is stopped, or is gone
 * without a trace; what was there before Platter is untouched.
 */
class KillSweepTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static Sweep sweep;

  @BeforeAll
  static void makeSourcesAndForeigners() throws IOException {
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", work.resolve("image.qcow2"), "8M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 17 1M 2M", work.resolve("image.qcow2"));
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("data.raw"), "4M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 34 0 1M", work.resolve("data.raw"));
    new OciLayoutWriter(work.resolve("layout"))
        .add("t", Platform.LINUX_AMD64, "image.qcow2", work.resolve("image.qcow2"));
    sweep = new Sweep(work, LIBVIRT, manifest(work));
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

  static String manifest(Path work) {
    return """
    kind: VM
    metadata: {name: sweep}
    spec:
      cloudInit: {userData: {hostname: sweep}}
      domain:
        memory: {guest: 32Mi}
        devices:
          disks:
          - {name: root, source: {image: "oci:%1$s/layout:t"}, size: 16Mi, keep: true}
          - {name: cow, source: {file: %1$s/data.raw}, copy: {mode: copy-on-write}}
          - {name: clone, source: {image: "oci:%1$s/layout:t"}, copy: {mode: clone}, keep: true}
          - {name: blank, source: {blank: {}}, size: 1Mi}
    """
        .formatted(work);
  }

  @Test
  void thePlanIsLongEnoughToMeanSomething() throws IOException {
    assertThat(sweep.steps()).hasSizeGreaterThanOrEqualTo(8);
  }

  @TestFactory
  Stream<DynamicTest> killedWhileAVmIsMade() throws IOException {
    return sweep
        .moments("before", "after")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileMade(moment)));
  }

  @TestFactory
  Stream<DynamicTest> killedWhileAVmIsStopped() throws IOException {
    return sweep
        .moments(Step.Life.RUN, "beforeUndo", "afterUndo")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileStopped(moment)));
  }

  @TestFactory
  Stream<DynamicTest> killedWhileAVmIsRemoved() throws IOException {
    return sweep
        .moments("beforeUndo", "afterUndo")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileRemoved(moment)));
  }

  /** The VM has been up before, so its kept disks stay whatever happens. */
  @TestFactory
  Stream<DynamicTest> killedWhileAStoppedVmIsStarted() throws IOException {
    return sweep
        .moments(Step.Life.RUN, "before", "after")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileStartedAgain(moment)));
  }

  private static void whileStartedAgain(String moment) throws Exception {
    try (var node = sweep.node()) {
      sweep.run(node);
      node.stop(Sweep.KEY, Duration.ZERO);
      assertThat(sweep.kill("start", moment)).isTrue();
      node.tidy();
      assertSameBytes(sweep.disk("root", "qcow2"), "qcow2");
      if (node.status(Sweep.KEY).phase() == VmStatus.Phase.STOPPED) {
        assertThat(Files.exists(sweep.disk("cow", "qcow2"))).isFalse();
        assertThat(sweep.leases()).isEmpty();
        node.start(Sweep.KEY);
      }
      assertRunsWithTheRightBytes(node);
      node.remove(Sweep.KEY, true);
      sweep.assertNothingIsLeft();
    }
    sweep.assertForeignersAreUntouched();
  }

  private static void whileMade(String moment) throws Exception {
    var died = sweep.kill("run", moment);
    try (var node = sweep.node()) {
      node.tidy();
      if (node.list().isEmpty()) {
        sweep.assertNothingIsLeft();
      } else {
        assertRunsWithTheRightBytes(node);
        node.remove(Sweep.KEY, true);
        sweep.assertNothingIsLeft();
      }
      assertThat(died).as("the process died at " + moment).isTrue();
    }
    sweep.assertForeignersAreUntouched();
  }

  private static void whileStopped(String moment) throws Exception {
    try (var node = sweep.node()) {
      sweep.run(node);
      sweep.kill("stop", moment);
      node.tidy();
      var stopped = node.list().getFirst();
      assertThat(stopped.phase()).isIn(VmStatus.Phase.STOPPED, VmStatus.Phase.RUNNING);
      if (stopped.phase() == VmStatus.Phase.STOPPED) {
        assertThat(Files.exists(sweep.disk("cow", "qcow2"))).isFalse();
        assertThat(sweep.leases()).isEmpty();
        assertSameBytes(sweep.disk("root", "qcow2"), "qcow2");
        node.start(Sweep.KEY);
      }
      assertRunsWithTheRightBytes(node);
      node.remove(Sweep.KEY, true);
      sweep.assertNothingIsLeft();
    }
    sweep.assertForeignersAreUntouched();
  }

  private static void whileRemoved(String moment) throws Exception {
    try (var node = sweep.node()) {
      sweep.run(node);
      sweep.kill("rm", moment);
      node.tidy();
      if (!node.list().isEmpty()) {
        // Killed before the removal was recorded: nothing has happened yet.
        assertThat(moment).startsWith("beforeUndo");
        assertRunsWithTheRightBytes(node);
        node.remove(Sweep.KEY, true);
      }
      sweep.assertNothingIsLeft();
    }
    sweep.assertForeignersAreUntouched();
  }

  private static void assertRunsWithTheRightBytes(Node node) throws IOException {
    assertThat(node.list())
        .singleElement()
        .extracting(VmStatus::phase)
        .isEqualTo(VmStatus.Phase.RUNNING);
    assertThat(sweep.qemu().state()).isEqualTo("running");
    assertSameBytes(sweep.disk("root", "qcow2"), "qcow2");
    Shell.run(
        "qemu-img",
        "compare",
        "-U",
        "-f",
        "raw",
        "-F",
        "qcow2",
        work.resolve("data.raw"),
        sweep.disk("cow", "qcow2"));
    assertSameBytes(sweep.disk("clone", "raw"), "raw");
    assertThat(sweep.disk("blank", "raw")).hasSize(1 << 20);
  }

  private static void assertSameBytes(Path disk, String format) {
    Shell.run(
        "qemu-img",
        "compare",
        "-U",
        "-f",
        "qcow2",
        "-F",
        format,
        work.resolve("image.qcow2"),
        disk);
  }
}
