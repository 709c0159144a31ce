package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Finding and cgroup v2, on a tree of plain files that are laid out as the kernel's: the machines
 * that run the tests have the memory controller in v1.
 */
class PodCgroupTest {
  private static final String UID = "0f8fad5b-d9cb-469f-a165-70867728950e";
  private static final String SLICES =
      "kubepods.slice/kubepods-burstable.slice/"
          + "kubepods-burstable-pod0f8fad5b_d9cb_469f_a165_70867728950e.slice";
  private static final String MARKER = "dev.platter.cluster.launch.Main";

  @TempDir Path temp;
  private Path root;
  private Path proc;

  @BeforeEach
  void tree() throws IOException {
    root = temp.resolve("cgroup");
    proc = temp.resolve("proc");
    group("", "1");
    Files.writeString(root.resolve("cgroup.controllers"), "cpu memory pids\n");
    process(1, "/sbin/init");
    process(10, "/pause");
    process(11, "/opt/jre/bin/java\0-cp\0/opt/platter/app\0" + MARKER + "\0");
  }

  private Path group(String name, String... pids) throws IOException {
    var group = Files.createDirectories(root.resolve(name));
    Files.writeString(group.resolve("cgroup.procs"), String.join("\n", pids) + "\n");
    return group;
  }

  private void events(String group, int kills) throws IOException {
    Files.writeString(
        root.resolve(group).resolve("memory.events"),
        "low 0\nhigh 0\nmax 9\noom 3\noom_kill " + kills + "\noom_group_kill 7\n");
  }

  private void process(int pid, String command) throws IOException {
    var directory = Files.createDirectories(proc.resolve(Integer.toString(pid)));
    Files.writeString(directory.resolve("cmdline"), command);
  }

  private PodCgroup find() throws IOException {
    return PodCgroup.find(root, proc, UID, MARKER);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        SLICES,
        "kubepods/burstable/pod" + UID,
        "lab/kubepods/pod" + UID,
        "kubelet.slice/kubelet-kubepods.slice/" + SLICES
      })
  void theLaunchersContainerIsFoundWhateverDriverKubeletHas(String pod) throws IOException {
    group("system.slice/ssh.service", "1");
    group(pod + "/cri-containerd-aaaa.scope", "10");
    var launcher = group(pod + "/cri-containerd-bbbb.scope", "11");
    find().move(4711);
    assertThat(launcher.resolve("cgroup.procs")).content().startsWith("4711");
    assertThat(root.resolve("platter")).doesNotExist();
  }

  @Test
  void aGroupOneDeeperThanTheContainersIsFound() throws IOException {
    group(SLICES + "/crio-bbbb.scope");
    var launcher = group(SLICES + "/crio-bbbb.scope/container", "11");
    find().move(4711);
    assertThat(launcher.resolve("cgroup.procs")).content().startsWith("4711");
  }

  @Test
  void anotherPodsLauncherIsNotTaken() throws IOException {
    group(SLICES.replace("0f8f", "1111") + "/cri-containerd-bbbb.scope", "11");
    assertThatThrownBy(this::find)
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("no cgroup for pod " + UID);
    group(SLICES + "/cri-containerd-cccc.scope", "10", "99999");
    assertThatThrownBy(this::find)
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("no process of pod " + UID);
  }

  @Test
  void killsAreCountedFromWhenThePodWasFound() throws IOException {
    group(SLICES + "/cri-containerd-bbbb.scope", "11");
    events(SLICES, 2);
    var pod = find();
    assertThat(pod.outOfMemory()).isFalse();
    events(SLICES, 3);
    assertThat(pod.outOfMemory()).isTrue();
    Files.delete(root.resolve(SLICES).resolve("memory.events"));
    assertThat(pod.outOfMemory()).isFalse();
  }

  /** Kubelet sets memory.oom.group: the launcher is killed as well, and its container removed. */
  @Test
  void aKillIsNoticedWhenTheContainerIsGoneAlready() throws IOException {
    var launcher = group(SLICES + "/cri-containerd-bbbb.scope", "11");
    events(SLICES, 2);
    events(SLICES + "/cri-containerd-bbbb.scope", 2);
    var pod = find();
    Files.delete(launcher.resolve("memory.events"));
    Files.delete(launcher.resolve("cgroup.procs"));
    Files.delete(launcher);
    assertThat(pod.outOfMemory()).isFalse();
    events(SLICES, 3);
    assertThat(pod.outOfMemory()).isTrue();
  }

  /** With the mount option memory_localevents. */
  @Test
  void aKillIsNoticedThatOnlyTheContainerCounts() throws IOException {
    group(SLICES + "/cri-containerd-bbbb.scope", "11");
    events(SLICES, 0);
    events(SLICES + "/cri-containerd-bbbb.scope", 0);
    var pod = find();
    events(SLICES + "/cri-containerd-bbbb.scope", 1);
    assertThat(pod.outOfMemory()).isTrue();
  }

  @Test
  void groupsOfOthersAreNotSweptAway() throws IOException {
    var empty = Files.createDirectories(root.resolve("system.slice/platter/4711"));
    group("system.slice", "1");
    PodCgroup.sweep(root);
    PodCgroup.forget(root, 4711);
    assertThat(empty).isDirectory();
  }

  @Test
  void aMoveThatIsRefusedSaysWhatTheDaemonNeeds() throws IOException {
    var launcher = group(SLICES + "/cri-containerd-bbbb.scope", "11");
    var pod = find();
    Files.delete(launcher.resolve("cgroup.procs"));
    assertThatThrownBy(() -> pod.move(4711))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("cannot move process 4711 into " + launcher)
        .hasMessageContaining("privileged");
  }

  @Test
  void theDaemonItselfIsNeverMoved() throws IOException {
    var launcher = group(SLICES + "/cri-containerd-bbbb.scope", "11");
    var pod = find();
    for (var pid : new long[] {0, -1, 1}) {
      assertThatThrownBy(() -> pod.move(pid)).isInstanceOf(IllegalArgumentException.class);
    }
    assertThat(launcher.resolve("cgroup.procs")).hasContent("11");
  }

  @Test
  void whatIsNotAUidOrNotACgroupTreeIsRefused() {
    assertThatThrownBy(() -> PodCgroup.find(root, proc, "*", MARKER))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("not the UID");
    assertThatThrownBy(() -> PodCgroup.find(proc, proc, UID, MARKER))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("no cgroups with memory");
  }
}
