package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.SecretData;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * One VM goes back and forth between two nodes while somebody is killed at every point of it. Then
 * the next commands look at what is left, those of the one node first or those of the other: the VM
 * runs on one node with the bytes that it wrote, and nothing of it is on the other.
 */
class MigrationSweepTest {
  @RegisterExtension static final PrivateLibvirtExtension A = new PrivateLibvirtExtension();
  @RegisterExtension static final PrivateLibvirtExtension B = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static TwoNodes nodes;
  private static final AtomicInteger written = new AtomicInteger();

  @BeforeAll
  static void makeImage() throws IOException {
    nodes = new TwoNodes(work, A, B);
    nodes.makeImage();
  }

  /** Starts the VM if it does not run, and writes what is there to be lost. */
  private static int prepare() throws IOException {
    for (var node : List.of(0, 1)) {
      if (!nodes.virsh(node, "list", "--state-running", "--uuid").isBlank()) {
        nodes.qemu(node).write(written.incrementAndGet(), "4M");
        return node;
      }
    }
    for (var each : List.of(1, 0)) {
      try (var node = nodes.node(each, Progress.NONE)) {
        node.tidy();
        for (var vm : node.list()) {
          node.remove(vm.key(), true);
        }
        if (each == 0) {
          nodes.run(node);
        }
      }
    }
    nodes.qemu(0).write(written.incrementAndGet(), "4M");
    return 0;
  }

  private static void tidy(int first) throws IOException {
    for (var each : List.of(first, TwoNodes.other(first))) {
      try (var node = nodes.node(each, Progress.NONE)) {
        node.tidy();
      }
    }
  }

  /** Returns where it is. */
  private static int assertRunsOnce() throws IOException {
    var here = nodes.runsOn();
    nodes.qemu(here).check(written.get(), "4M");
    nodes.qemu(here).check(17, "1M");
    nodes.assertNothingIsOn(TwoNodes.other(here));
    try (var node = nodes.node(here, Progress.NONE)) {
      assertThat(node.status(TwoNodes.KEY).phase()).isEqualTo(VmStatus.Phase.RUNNING);
    }
    return here;
  }

  @TestFactory
  Stream<DynamicTest> theProcessThatMovesItIsKilled() {
    var moments =
        List.of(
            "after:CreateOverlay stays",
            "PREPARED stays",
            "MIRRORED stays",
            "bytes:memory stays",
            "PAUSED stays",
            "HANDED stays",
            "DECIDED moves",
            "RUNNING moves",
            "afterUndo:StartDomain moves");
    return moments.stream()
        .map(
            moment ->
                DynamicTest.dynamicTest(
                    moment,
                    () -> {
                      var from = prepare();
                      assertThat(KilledMigration.run(nodes, from, moment.split(" ")[0])).isTrue();
                      if (moment.startsWith("MIRRORED")) {
                        assertGoesOnByItself(from);
                      }
                      tidy(moments.indexOf(moment) % 2);
                      assertThat(assertRunsOnce() == from).isEqualTo(moment.endsWith("stays"));
                    }));
  }

  /** What goes through the process ends with it: the guest's next write goes here alone. */
  private static void assertGoesOnByItself(int node) {
    nodes.qemu(node).write(written.get(), "4M");
    var end = System.nanoTime() + 60_000_000_000L;
    while (nodes.qemu(node).monitor("{\"execute\": \"query-jobs\"}").contains("ready")) {
      assertThat(System.nanoTime()).as("QEMU goes on copying").isLessThan(end);
      nodes.qemu(node).write(0, written.get(), "4M");
      nodes.qemu(node).write(1, written.get(), "4M");
      nodes.qemu(node).write(2, written.get(), "512k");
    }
    assertThat(nodes.qemu(node).monitor("{\"execute\": \"query-status\"}")).contains("running");
  }

  /** What happens to whom at a stage, in this process. */
  private record Blow(MigrationStage when, Victim victim) implements Progress {
    enum Victim {
      SOURCE_QEMU,
      TARGET_QEMU,
      SOURCE_LIBVIRT,
      TARGET_LIBVIRT,
      NOBODY
    }

    @Override
    public void reached(MigrationStage stage) {
      if (stage != when) {
        return;
      }
      var from = Integer.parseInt(Thread.currentThread().getName());
      try {
        strike(from);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private void strike(int from) throws IOException {
      switch (victim) {
        case SOURCE_QEMU -> nodes.killQemu(from);
        case TARGET_QEMU -> nodes.killQemu(TwoNodes.other(from));
        case SOURCE_LIBVIRT -> nodes.killLibvirt(from);
        case TARGET_LIBVIRT -> nodes.killLibvirt(TwoNodes.other(from));
        case NOBODY -> Thread.currentThread().interrupt();
      }
    }
  }

  private static DynamicTest blow(MigrationStage stage, Blow.Victim victim, String outcome) {
    return DynamicTest.dynamicTest(
        victim + " at " + stage,
        () -> {
          var from = prepare();
          var failed = migrate(from, new Blow(stage, victim));
          tidy(from);
          if (outcome.equals("ends")) {
            assertEndedOn(from);
            return;
          }
          var stays = assertRunsOnce() == from;
          assertThat(stays).isEqualTo(outcome.equals("stays"));
          assertThat(failed).isEqualTo(stays);
        });
  }

  /** Whether it failed. */
  private static boolean migrate(int from, Progress progress) throws IOException {
    var thread = Thread.currentThread();
    var name = thread.getName();
    thread.setName(Integer.toString(from));
    try (var here = nodes.node(from, progress);
        var there = nodes.node(TwoNodes.other(from), Progress.NONE)) {
      here.migrate(TwoNodes.KEY, there, SecretData.NONE, Journey.PER_GIB);
      return false;
    } catch (PlatterException e) {
      return true;
    } finally {
      Thread.interrupted();
      thread.setName(name);
    }
  }

  /** The disk that it kept is as the guest left it, and nothing is on the other node. */
  private static void assertEndedOn(int node) throws IOException {
    nodes.assertNothingIsOn(TwoNodes.other(node));
    assertThat(nodes.virsh(node, "list", "--all", "--uuid")).isBlank();
    Shell.run(
        "qemu-io",
        "-f",
        "qcow2",
        "-c",
        "read -P %d 4M 64k".formatted(written.get()),
        nodes.disk(node, "root", "qcow2"));
  }

  @TestFactory
  Stream<DynamicTest> aPartThatItNeedsIsKilled() {
    return Stream.of(
        blow(MigrationStage.MIRRORED, Blow.Victim.TARGET_QEMU, "stays"),
        blow(MigrationStage.HANDED, Blow.Victim.TARGET_QEMU, "stays"),
        blow(MigrationStage.MIRRORED, Blow.Victim.SOURCE_LIBVIRT, "moves"),
        blow(MigrationStage.PAUSED, Blow.Victim.TARGET_LIBVIRT, "moves"),
        blow(MigrationStage.MIRRORED, Blow.Victim.NOBODY, "stays"),
        blow(MigrationStage.HANDED, Blow.Victim.SOURCE_QEMU, "moves"),
        blow(MigrationStage.MIRRORED, Blow.Victim.SOURCE_QEMU, "ends"));
  }
}
