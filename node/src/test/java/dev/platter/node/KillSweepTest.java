package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.model.Vm;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Claims;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
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
  private static final VmKey KEY = new VmKey("default", "sweep");
  private static final String FOREIGN_SECRET = "7a0e8e7e-1111-4222-8333-944455566677";

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static Path foreignFile = Path.of("/");
  private static String foreignDomain = "";

  @BeforeAll
  static void makeSourcesAndForeigners() throws IOException {
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", work.resolve("image.qcow2"), "8M");
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 17 1M 2M", work.resolve("image.qcow2"));
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("data.raw"), "4M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 34 0 1M", work.resolve("data.raw"));
    new OciLayoutWriter(work.resolve("layout"))
        .add("t", Platform.LINUX_AMD64, "image.qcow2", work.resolve("image.qcow2"));
    Files.createDirectory(work.resolve("volume"));
    foreignFile = Files.createDirectories(layout().pool("default")).resolve("somebody-elses.qcow2");
    Files.writeString(foreignFile, "not ours");
    var secret = work.resolve("secret.xml");
    Files.writeString(
        secret,
        "<secret ephemeral='yes' private='yes'><uuid>"
            + FOREIGN_SECRET
            + "</uuid><usage type='ceph'><name>foreign</name></usage></secret>");
    virsh("secret-define", secret);
  }

  /** The extension ends all domains after each test. */
  @BeforeEach
  void startForeignDomain() throws IOException {
    var domain = work.resolve("foreign.xml");
    Files.writeString(
        domain,
        "<domain type='qemu'><name>foreign</name><memory unit='MiB'>16</memory><os><type>hvm</type></os></domain>");
    virsh("create", domain, "--paused");
    foreignDomain = virsh("domuuid", "foreign").strip();
  }

  @AfterAll
  static void removeForeignSecret() {
    virsh("secret-undefine", FOREIGN_SECRET);
  }

  private static String virsh(Object... arguments) {
    return Shell.run(
        Stream.concat(Stream.of("virsh", "-c", LIBVIRT.uri()), Stream.of(arguments)).toArray());
  }

  private static StateLayout layout() {
    return new StateLayout(work.resolve("state"), work.resolve("run"));
  }

  static Vm vm(Path work) {
    var objects =
        Manifests.objects(
            "sweep.yaml",
            """
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
                  - {name: claimed, source: {pvc: c}}
            ---
            kind: PersistentVolumeClaim
            metadata: {name: c}
            spec: {volumeName: v, resources: {requests: {storage: 4Mi}}}
            ---
            kind: PersistentVolume
            metadata: {name: v}
            spec: {local: {path: %1$s/volume}}
            """
                .formatted(work));
    return Claims.resolve(objects.vms().getFirst(), objects.volumes(), objects.secrets());
  }

  private static Node node() {
    return LocalNode.open(
        new NodeConfig(layout(), Optional.of(LIBVIRT.uri()), Optional.empty()), Progress.NONE);
  }

  private static List<Step> steps() throws IOException {
    try (var node = node()) {
      return node.plan(vm(work)).plan().steps();
    }
  }

  @Test
  void thePlanIsLongEnoughToMeanSomething() throws IOException {
    assertThat(steps()).hasSizeGreaterThanOrEqualTo(8);
  }

  @TestFactory
  Stream<DynamicTest> killedWhileAVmIsMade() throws IOException {
    return moments("before", "after")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileMade(moment)));
  }

  @TestFactory
  Stream<DynamicTest> killedWhileAVmIsStopped() throws IOException {
    return moments(Step.Life.RUN, "beforeUndo", "afterUndo")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileStopped(moment)));
  }

  @TestFactory
  Stream<DynamicTest> killedWhileAVmIsRemoved() throws IOException {
    return moments("beforeUndo", "afterUndo")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileRemoved(moment)));
  }

  /** The VM has been up before, so its kept disks stay whatever happens. */
  @TestFactory
  Stream<DynamicTest> killedWhileAStoppedVmIsStarted() throws IOException {
    return moments(Step.Life.RUN, "before", "after")
        .map(moment -> DynamicTest.dynamicTest(moment, () -> whileStartedAgain(moment)));
  }

  private static void whileStartedAgain(String moment) throws Exception {
    try (var node = node()) {
      node.run(vm(work));
      node.stop(KEY, Duration.ZERO);
      assertThat(KilledProcess.run("start", moment, work, LIBVIRT.uri())).isTrue();
      node.tidy();
      assertSameBytes(disk("root", "qcow2"), "qcow2");
      if (node.status(KEY).phase() == VmStatus.Phase.STOPPED) {
        assertThat(Files.exists(disk("cow", "qcow2"))).isFalse();
        assertThat(leases()).isEmpty();
        node.start(KEY);
      }
      assertRunsWithTheRightBytes(node);
      node.remove(KEY, true);
      assertNothingIsLeft();
    }
    assertForeignersAreUntouched();
  }

  private static Stream<String> moments(String... phases) throws IOException {
    return Stream.concat(moments(Step.Life.RUN, phases), moments(Step.Life.VM, phases));
  }

  private static Stream<String> moments(Step.Life life, String... phases) throws IOException {
    var steps = steps();
    return Stream.of(phases)
        .flatMap(
            phase ->
                IntStream.range(0, steps.size())
                    .filter(i -> steps.get(i).life() == life)
                    .mapToObj(i -> phase + ":" + i));
  }

  private static void whileMade(String moment) throws Exception {
    var died = KilledProcess.run("run", moment, work, LIBVIRT.uri());
    try (var node = node()) {
      node.tidy();
      if (node.list().isEmpty()) {
        assertNothingIsLeft();
      } else {
        assertRunsWithTheRightBytes(node);
        node.remove(KEY, true);
        assertNothingIsLeft();
      }
      assertThat(died).as("the process died at " + moment).isTrue();
    }
    assertForeignersAreUntouched();
  }

  private static void whileStopped(String moment) throws Exception {
    try (var node = node()) {
      node.run(vm(work));
      KilledProcess.run("stop", moment, work, LIBVIRT.uri());
      node.tidy();
      var stopped = node.list().getFirst();
      assertThat(stopped.phase()).isIn(VmStatus.Phase.STOPPED, VmStatus.Phase.RUNNING);
      if (stopped.phase() == VmStatus.Phase.STOPPED) {
        assertThat(Files.exists(disk("cow", "qcow2"))).isFalse();
        assertThat(leases()).isEmpty();
        assertSameBytes(disk("root", "qcow2"), "qcow2");
        node.start(KEY);
      }
      assertRunsWithTheRightBytes(node);
      node.remove(KEY, true);
      assertNothingIsLeft();
    }
    assertForeignersAreUntouched();
  }

  private static void whileRemoved(String moment) throws Exception {
    try (var node = node()) {
      node.run(vm(work));
      KilledProcess.run("rm", moment, work, LIBVIRT.uri());
      node.tidy();
      if (!node.list().isEmpty()) {
        // Killed before the removal was recorded: nothing has happened yet.
        assertThat(moment).startsWith("beforeUndo");
        assertRunsWithTheRightBytes(node);
        node.remove(KEY, true);
      }
      assertNothingIsLeft();
    }
    assertForeignersAreUntouched();
  }

  private static Path disk(String name, String suffix) {
    return layout().disk("default", vm(work).uuid(), name, suffix);
  }

  private static void assertRunsWithTheRightBytes(Node node) throws IOException {
    assertThat(node.list())
        .singleElement()
        .extracting(VmStatus::phase)
        .isEqualTo(VmStatus.Phase.RUNNING);
    assertThat(virsh("domstate", vm(work).uuid())).contains("running");
    assertSameBytes(disk("root", "qcow2"), "qcow2");
    Shell.run(
        "qemu-img",
        "compare",
        "-U",
        "-f",
        "raw",
        "-F",
        "qcow2",
        work.resolve("data.raw"),
        disk("cow", "qcow2"));
    Shell.run(
        "qemu-img",
        "compare",
        "-U",
        "-f",
        "qcow2",
        "-F",
        "raw",
        work.resolve("image.qcow2"),
        disk("clone", "raw"));
    assertThat(disk("blank", "raw")).hasSize(1 << 20);
    assertThat(work.resolve("volume/disk.img")).hasSize(3 << 20);
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

  private static List<String> leases() throws IOException {
    return names(layout().leases()).stream().filter(name -> name.endsWith(".json")).toList();
  }

  private static List<String> names(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return List.of();
    }
    try (var files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  private static void assertNothingIsLeft() throws IOException {
    assertThat(names(layout().vms())).isEmpty();
    assertThat(names(layout().pool("default"))).containsExactly("somebody-elses.qcow2");
    assertThat(leases()).isEmpty();
    assertThat(names(layout().runVms())).isEmpty();
    assertThat(names(layout().spool())).isEmpty();
    // What is in a claim is the claim's, but nothing unfinished stays there.
    assertThat(names(work.resolve("volume"))).isSubsetOf("disk.img");
    Files.deleteIfExists(work.resolve("volume/disk.img"));
    assertThat(virsh("list", "--all", "--uuid").strip()).isEqualTo(foreignDomain);
    assertThat(virsh("secret-list").lines().filter(line -> line.contains("-")).count())
        .isEqualTo(2);
  }

  private static void assertForeignersAreUntouched() throws IOException {
    assertThat(virsh("domstate", "foreign")).contains("paused");
    assertThat(virsh("secret-list")).contains(FOREIGN_SECRET);
    assertThat(Files.readString(foreignFile)).isEqualTo("not ours");
  }
}
