package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Processes are really moved, and really killed, in this machine's cgroups of version 1. */
class PodCgroupV1Test {
  private static final Path ROOT = Path.of("/sys/fs/cgroup");
  private static final Path PROC = Path.of("/proc");
  private static final String MARKER = "dev.platter.cluster.launch.Main";

  private final String uid = UUID.randomUUID().toString();
  private final String top = "platter-test-" + uid;
  private final String container = top + "/kubepods/burstable/pod" + uid + "/launcher";
  private final List<Process> processes = new ArrayList<>();

  @BeforeEach
  void needsV1() {
    assumeTrue(Files.isWritable(ROOT.resolve("memory/cgroup.procs")), "no cgroup v1, or not root");
  }

  @AfterEach
  void cleanUp() throws Exception {
    for (var process : processes) {
      process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
      PodCgroup.forget(ROOT, process.pid());
    }
    for (var tree : trees()) {
      remove(tree.resolve(top));
    }
  }

  private static List<Path> trees() throws IOException {
    try (var trees = Files.list(ROOT)) {
      return trees.filter(t -> Files.exists(t.resolve("cgroup.procs"))).toList();
    }
  }

  private static void remove(Path group) throws IOException {
    if (Files.exists(group)) {
      try (var all = Files.walk(group)) {
        for (var each : all.filter(Files::isDirectory).sorted(Comparator.reverseOrder()).toList()) {
          await().ignoreExceptions().until(() -> Files.deleteIfExists(each) || true);
        }
      }
    }
  }

  /** As kubelet and a container runtime do. */
  private void makePod(List<String> controllers) throws IOException {
    for (var controller : controllers) {
      var group = ROOT.resolve(controller);
      if (Files.isDirectory(group)) {
        for (var name : Path.of(container)) {
          var child = Files.createDirectories(group.resolve(name));
          if (controller.equals("cpuset")) {
            for (var file : List.of("cpuset.cpus", "cpuset.mems")) {
              Files.writeString(child.resolve(file), Files.readString(group.resolve(file)));
            }
          }
          group = child;
        }
      }
    }
  }

  private void launcher() throws IOException {
    var launcher = start("read end # " + MARKER);
    Files.writeString(
        ROOT.resolve("memory").resolve(container).resolve("cgroup.procs"),
        Long.toString(launcher.pid()));
  }

  private Process start(String script) throws IOException {
    var process = new ProcessBuilder("sh", "-c", script).start();
    processes.add(process);
    return process;
  }

  private static String groups(Process process) throws IOException {
    return Files.readString(PROC.resolve(Long.toString(process.pid())).resolve("cgroup"));
  }

  @Test
  void aProcessIsCountedWithThePodButKeepsItsDevicesAndItsOwnFreezer() throws Exception {
    makePod(
        List.of(
            "memory", "cpu", "cpuacct", "cpuset", "pids", "blkio", "devices", "freezer", "systemd",
            "unified"));
    launcher();
    var qemu = start("exec sleep 600");
    var own = "/platter/" + qemu.pid();

    PodCgroup.find(ROOT, PROC, uid, MARKER).move(qemu.pid());
    // The kernel says where the process is.
    assertThat(groups(qemu).lines().map(line -> line.substring(line.indexOf(':') + 1)))
        .containsExactlyInAnyOrder(
            "memory:/" + container,
            "cpu:/" + container,
            "cpuacct:/" + container,
            "cpuset:/" + container,
            "pids:/" + container,
            "blkio:/" + container,
            "devices:" + own,
            "freezer:" + own,
            "name=systemd:" + own,
            ":" + own);

    assertThatThrownBy(() -> PodCgroup.forget(ROOT, qemu.pid())).isInstanceOf(IOException.class);
    qemu.destroyForcibly().waitFor();
    PodCgroup.forget(ROOT, qemu.pid());
    PodCgroup.forget(ROOT, qemu.pid());
    for (var tree : trees()) {
      assertThat(tree.resolve(own.substring(1))).doesNotExist();
    }
  }

  @Test
  void whereTheLauncherHasNoGroupTheProcessHasItsOwn() throws Exception {
    makePod(List.of("memory", "cpu"));
    launcher();
    var qemu = start("exec sleep 600");
    PodCgroup.find(ROOT, PROC, uid, MARKER).move(qemu.pid());
    assertThat(groups(qemu))
        .contains(":memory:/" + container + "\n", ":cpu:/" + container + "\n")
        .contains(":cpuset:/platter/" + qemu.pid() + "\n", ":pids:/platter/" + qemu.pid() + "\n");
  }

  @Test
  void aProcessThatIsGoneCannotBeMoved() throws Exception {
    makePod(List.of("memory", "cpu"));
    launcher();
    var qemu = start("exit 0");
    qemu.waitFor();
    var pod = PodCgroup.find(ROOT, PROC, uid, MARKER);
    assertThatThrownBy(() -> pod.move(qemu.pid()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot move process " + qemu.pid());
  }

  @Test
  void aKillForWantOfMemoryIsNoticed() throws Exception {
    makePod(List.of("memory", "cpu"));
    launcher();
    var group = ROOT.resolve("memory").resolve(container);
    // A pod's limit is on its own group, above those of its containers.
    Files.writeString(group.getParent().resolve("memory.limit_in_bytes"), "33554432");
    var qemu = start("read go; exec tail /dev/zero");
    var pod = PodCgroup.find(ROOT, PROC, uid, MARKER);
    pod.move(qemu.pid());
    assertThat(pod.outOfMemory()).isFalse();

    qemu.outputWriter().append("go\n").flush();
    assertThat(qemu.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(qemu.exitValue()).isEqualTo(128 + 9);
    assertThat(pod.outOfMemory()).isTrue();
    assertThat(PodCgroup.find(ROOT, PROC, uid, MARKER).outOfMemory()).isFalse();
  }
}
