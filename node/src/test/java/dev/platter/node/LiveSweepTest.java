package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real process is killed with SIGKILL at every point of a change of a running VM's disks; then
 * the next command looks at what is left. The change is finished or taken back, the guest runs, and
 * QEMU, the plan, the stored domain, the journal, the files and the leases say the same.
 */
class LiveSweepTest {
  private static final VmKey KEY = Sweep.KEY;
  private static final String SNAPSHOT = "s1";

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static Sweep sweep;

  /** What the process that is killed does. */
  static void command(String command, Node node) throws IOException {
    switch (command) {
      case "grow" -> {
        var size = node.disks(KEY).list().getFirst().size().orElseThrow();
        node.disks(KEY).grow("root", ByteSize.of(size + (1 << 20)));
      }
      case "snapshot" -> node.disks(KEY).snapshot("root", SNAPSHOT);
      case "rmsnapshot" -> node.disks(KEY).removeSnapshot("root", SNAPSHOT);
      case "attach" ->
          node.disks(KEY)
              .attach(
                  Manifests.readDisk(
                      "disk.yaml",
                      "{name: more, source: {file: %s}, copy: {mode: copy-on-write}, keep: true}"
                          .formatted(node.layout().state().resolveSibling("more.raw")),
                      devices(node.status(KEY).plan()),
                      "default"),
                  Objects.NONE);
      default -> node.disks(KEY).detach("more");
    }
  }

  private static List<String> devices(Plan plan) {
    return plan.disks().stream().map(PlannedDisk::device).toList();
  }

  @BeforeAll
  static void makeSources() throws IOException {
    Files.createDirectory(work.resolve("volume"));
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", work.resolve("image.qcow2"), "8M");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("data.raw"), "4M");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("more.raw"), "4M");
    new OciLayoutWriter(work.resolve("layout"))
        .add("t", Platform.LINUX_AMD64, "image.qcow2", work.resolve("image.qcow2"));
    sweep = new Sweep(work, LIBVIRT, KillSweepTest.manifest(work));
  }

  private static RunningQemu qemu() throws IOException {
    return sweep.qemu();
  }

  private static Stream<DynamicTest> sweep(String moments, Body body) {
    return Arrays.stream(moments.split(" "))
        .map(moment -> DynamicTest.dynamicTest(moment, () -> run(moment, body)));
  }

  private interface Body {
    void run(Node node, String moment) throws Exception;
  }

  private static void run(String moment, Body body) throws Exception {
    try (var node = sweep.node()) {
      if (!node.list().isEmpty() && node.status(KEY).phase() != VmStatus.Phase.RUNNING) {
        node.remove(KEY, true);
      }
      if (node.list().isEmpty()) {
        sweep.run(node);
        qemu().write(17, "1M");
      }
      body.run(node, moment);
      assertAllAgree(node);
    }
  }

  private static void kill(Node node, String command, String moment) throws Exception {
    assertThat(sweep.kill(command, moment)).as("the process died at " + moment).isTrue();
    node.tidy();
    assertThat(qemu().state()).isEqualTo("running");
    assertAllAgree(node);
  }

  @TestFactory
  Stream<DynamicTest> killedWhileADiskIsGrown() {
    return sweep(
        "beforeEffect effect decided published",
        (node, moment) -> {
          var before = qemu().size("sda");
          kill(node, "grow", moment);
          assertThat(qemu().size("sda") - before)
              .isEqualTo(moment.equals("beforeEffect") ? 0 : 1 << 20);
          assertThat(step("root"))
              .extracting(step -> ((Step.CreateOverlay) step).size())
              .isEqualTo(qemu().size("sda"));
        });
  }

  @TestFactory
  Stream<DynamicTest> killedWhileASnapshotIsMadeAndWhileItIsRemoved() {
    return Stream.concat(
        sweep(
            "before:CreateSnapshot after:CreateSnapshot paused effect decided published",
            (node, moment) -> {
              kill(node, "snapshot", moment);
              qemu().check(17, "1M");
              var made = qemu().chain("sda").size() == 3;
              assertThat(made)
                  .isEqualTo(List.of("effect", "decided", "published").contains(moment));
              if (made) {
                node.disks(KEY).removeSnapshot("root", SNAPSHOT);
              }
            }),
        sweep(
            "beforeEffect prepared paused effect decided published afterUndo:CreateSnapshot",
            (node, moment) -> {
              node.disks(KEY).snapshot("root", SNAPSHOT);
              qemu().write(34, "2M");
              kill(node, "rmsnapshot", moment);
              qemu().check(17, "1M");
              qemu().check(34, "2M");
              var removed = qemu().chain("sda").size() == 2;
              assertThat(removed)
                  .isEqualTo(!List.of("beforeEffect", "prepared", "paused").contains(moment));
              if (!removed) {
                node.disks(KEY).removeSnapshot("root", SNAPSHOT);
              }
              qemu().check(34, "2M");
            }));
  }

  private static Step step(String disk) throws IOException {
    try (var node = sweep.node()) {
      return node.status(KEY).plan().steps().stream()
          .filter(step -> step instanceof Step.CreateOverlay made && made.path().contains(disk))
          .findFirst()
          .orElseThrow();
    }
  }

  /** The guest wrote before the change and not during it, whatever had happened to its disk. */
  @TestFactory
  Stream<DynamicTest> killedTogetherWithTheVm() {
    return sweep(
        "effect decided",
        (node, moment) -> {
          assertThat(sweep.kill("snapshot", moment)).isTrue();
          endAndStartAgain(node);
          if (node.disks(KEY).list().getFirst().snapshots().isEmpty()) {
            node.disks(KEY).snapshot("root", SNAPSHOT);
          }
          qemu().write(51, "3M");
          assertThat(sweep.kill("rmsnapshot", moment)).isTrue();
          endAndStartAgain(node);
          qemu().check(17, "1M");
          qemu().check(51, "3M");
          node.remove(KEY, true);
        });
  }

  private static void endAndStartAgain(Node node) throws IOException {
    assertThat(qemu().state()).as("it cannot write what nobody remembers").isEqualTo("paused");
    qemu().kill();
    node.tidy();
    node.start(KEY);
    assertAllAgree(node);
    qemu().check(17, "1M");
  }

  @TestFactory
  Stream<DynamicTest> killedWhileADiskIsAttachedAndWhileItIsDetached() {
    return Stream.concat(
        sweep(
            "before:TakeLease after:TakeLease after:CreateOverlay paused effect decided published",
            (node, moment) -> {
              kill(node, "attach", moment);
              var attached = !qemu().chain("sdf").isEmpty();
              assertThat(attached)
                  .isEqualTo(List.of("effect", "decided", "published").contains(moment));
              if (attached) {
                node.disks(KEY).detach("more");
              }
            }),
        sweep(
            "beforeEffect effect decided published afterUndo:CreateOverlay afterUndo:TakeLease",
            (node, moment) -> {
              command("attach", node);
              kill(node, "detach", moment);
              var attached = !qemu().chain("sdf").isEmpty();
              assertThat(attached).isEqualTo(moment.equals("beforeEffect"));
              if (attached) {
                node.disks(KEY).detach("more");
              }
            }));
  }

  private static void assertAllAgree(Node node) throws IOException {
    if (node.list().isEmpty()) {
      return;
    }
    var plan = node.status(KEY).plan();
    var directory = sweep.layout().vm(KEY);
    assertThat(sweep.layout().change(directory)).doesNotExist();
    assertThat(Journal.read(sweep.layout().journal(directory)).done()).hasSize(plan.steps().size());
    var stored = Files.readString(sweep.layout().domainXml(directory));
    var running = qemu().virsh("dumpxml", qemu().uuid());
    for (var disk : plan.disks()) {
      var chain = disk.chain().stream().map(PlannedDisk.Link::file).toList();
      assertThat(RunningQemu.chain(running, disk.device()))
          .as("QEMU's " + disk.name())
          .isEqualTo(chain);
      assertThat(RunningQemu.chain(stored, disk.device()))
          .as("the stored " + disk.name())
          .isEqualTo(chain);
    }
    assertThat(running.split("</disk>")).hasSize(plan.disks().size() + 1);
    var files = new TreeSet<String>();
    var leases = 0;
    for (var step : plan.steps()) {
      switch (step) {
        case Step.CreateOverlay overlay -> files.add(overlay.path());
        case Step.CreateSnapshot snapshot -> files.add(snapshot.path());
        case Step.CloneDisk clone -> files.add(clone.path());
        case Step.CreateBlank blank -> files.add(blank.path());
        case Step.CreateVolume volume -> files.add(volume.path());
        case Step.TakeLease _ -> leases++;
        default -> {}
      }
    }
    assertThat(names(sweep.layout().pool("default"))).isEqualTo(files);
    assertThat(names(sweep.layout().leases())).hasSize(leases);
  }

  private static TreeSet<String> names(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return new TreeSet<>(files.map(Path::toString).toList());
    }
  }
}
