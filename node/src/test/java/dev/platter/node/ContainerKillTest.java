package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A process is killed with SIGKILL around the moment at which a plan grows, and while a removal
 * comes to the volume. Whoever comes next finds a VM that runs, or undoes it: the volume is deleted
 * once.
 */
class ContainerKillTest {
  private static final VmKey KEY = new VmKey("default", "killed");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static ContainerLab lab;

  @BeforeAll
  static void start() throws IOException {
    assumeTrue(System.getProperty("user.name").equals("root"), "containerd needs root");
    lab = new ContainerLab(work);
    Files.writeString(
        work.resolve("vm.yaml"),
        ContainerLab.vm(
            "killed",
            "{name: root, source: {blank: {}}, size: 1Mi}",
            "{name: data, source: " + lab.iscsi() + "}"));
  }

  @AfterAll
  static void stop() throws Exception {
    if (lab != null) {
      lab.close();
    }
  }

  @BeforeEach
  void forget() {
    lab.volumes.storage.forget();
  }

  private static Node open(Path work, String uri, Path containerd, Progress progress) {
    return LocalNode.open(ContainerLab.config(layout(work), uri, containerd), progress);
  }

  private static Node open() {
    return open(work, LIBVIRT.uri(), lab.volumes.containerd.socket(), Progress.NONE);
  }

  private static StateLayout layout(Path work) {
    return GuestNode.layout(work);
  }

  private static void run(Node node, Path work) throws IOException {
    var objects = Manifests.objects("vm.yaml", Files.readString(work.resolve("vm.yaml")));
    node.run(objects.vms().getFirst(), objects);
  }

  private static void killed(String command, String moment) throws Exception {
    assertThat(
            KilledProcess.run(
                ContainerKillTest.class,
                command,
                moment,
                work.toString(),
                LIBVIRT.uri(),
                lab.volumes.containerd.socket().toString()))
        .as("the process died at " + moment)
        .isTrue();
  }

  public static void main(String[] args) throws IOException {
    var directory = Path.of(args[2]);
    var killer = new KilledProcess.Killer(args[1], List.of());
    try (var node = open(directory, args[3], Path.of(args[4]), killer)) {
      switch (args[0]) {
        case "run" -> run(node, directory);
        case "tidy" -> node.tidy();
        default -> node.remove(KEY, true);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "before:MakeVolume",
        "after:ServeVolume",
        "before:MakeDirectory",
        "after:TakeLease",
        "after:StartDomain"
      })
  void whatWasBegunIsUndoneUnlessItRuns(String moment) throws Exception {
    killed("run", moment);
    try (var node = open()) {
      node.tidy();
      if (moment.equals("after:StartDomain")) {
        assertThat(node.status(KEY).phase()).isEqualTo(VmStatus.Phase.RUNNING);
        node.remove(KEY, true);
      }
    }
    assertGoneOnce();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rm", "tidy"})
  void aRemovalIsFinished(String command) throws Exception {
    if (command.equals("rm")) {
      try (var node = open()) {
        run(node, work);
      }
    } else {
      killed("run", "before:ServeVolume");
    }
    killed(command, "beforeUndo:MakeVolume");
    try (var node = open()) {
      node.tidy();
    }
    assertGoneOnce();
  }

  private static void assertGoneOnce() throws IOException {
    var storage = lab.volumes.storage;
    assertThat(storage.deleted).isEqualTo(storage.made);
    assertThat(storage.deletions).hasValue(storage.made.size());
    lab.assertNothingIsLeft(layout(work));
  }
}
