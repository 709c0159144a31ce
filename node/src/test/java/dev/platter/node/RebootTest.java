package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirt;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The machine goes down under a running VM: all processes are gone, all files are there, and what
 * they say of processes is about somebody else's.
 */
class RebootTest {
  private static final VmKey A = new VmKey("default", "a");

  @TempDir Path work;

  private StateLayout layout() {
    return GuestNode.layout(work);
  }

  /** With a libvirt of its own, whose run directory lies on the disk. */
  private Node open() {
    return LocalNode.open(
        new NodeConfig(layout(), Optional.empty(), Optional.empty()), Progress.NONE);
  }

  @AfterEach
  void endLibvirt() throws IOException {
    new PrivateLibvirt(layout().libvirtState(), layout().libvirtRun()).stop();
    powerOff();
  }

  @Test
  void aVmThatRanIsStoppedAndHoldsOnlyWhatItsKeptDisksLieOn() throws Exception {
    var used = file("used.raw");
    var below = file("below.raw");
    var onBelow = "{source: {file: " + below + "}, copy: {mode: copy-on-write}, keep: true}";
    try (var node = open()) {
      run(node, "a", "{source: {file: " + used + "}}, " + onBelow);
      assertThatThrownBy(() -> run(node, "b", "{source: {file: " + used + "}}"))
          .hasMessageContaining("in use by the VM default/a");
    }
    var bystander = new ProcessBuilder("sleep", "600").start();
    try {
      reboot(bystander.pid());
      try (var node = open()) {
        node.tidy();
        assertThat(bystander.isAlive()).as("it has the number that QEMU had").isTrue();
        assertThat(node.status(A).phase()).isEqualTo(VmStatus.Phase.STOPPED);
        assertThatThrownBy(() -> run(node, "b", "{source: {file: " + below + "}}"))
            .hasMessageContaining("in use by the VM default/a");
        run(node, "b", "{source: {file: " + used + "}}");
        node.remove(new VmKey("default", "b"), true);
        assertThat(node.start(A).phase()).isEqualTo(VmStatus.Phase.RUNNING);
        node.remove(A, true);
      }
    } finally {
      bystander.destroyForcibly();
    }
  }

  private Path file(String name) {
    var file = work.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "raw", file, "1M");
    return file;
  }

  private static void run(Node node, String name, String disks) throws IOException {
    var yaml =
        "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
            .formatted(name, disks);
    node.run(Manifests.read("vm.yaml", yaml).getFirst());
  }

  /** QEMU's process id is another process's afterwards. */
  private void reboot(long taken) throws IOException {
    var pids = powerOff();
    var changed = 0;
    try (var files = Files.walk(layout().libvirtRun())) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        var text = Files.readString(file, StandardCharsets.ISO_8859_1);
        var reused = text;
        for (var pid : pids) {
          reused = reused.replaceAll("\\b" + pid + "\\b", Long.toString(taken));
        }
        if (!reused.equals(text)) {
          Files.writeString(file, reused, StandardCharsets.ISO_8859_1);
          changed++;
        }
      }
    }
    assertThat(changed).as("files in which libvirt keeps process ids").isPositive();
    Files.writeString(layout().bootStamp(), "another boot\n");
  }

  /** libvirt first, or it would see the end of QEMU and note it. */
  private List<Long> powerOff() throws IOException {
    var pids =
        PrivateLibvirtExtension.processesOf(work).stream()
            .sorted(Comparator.comparing(pid -> !commandLine(pid).contains("libvirtd")))
            .toList();
    for (var pid : pids) {
      ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
    while (!PrivateLibvirtExtension.processesOf(work).isEmpty()) {
      Thread.onSpinWait();
    }
    return pids;
  }

  private static String commandLine(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/cmdline"));
    } catch (IOException e) {
      return ""; // it has ended
    }
  }
}
