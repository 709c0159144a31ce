package dev.platter.bench;

import dev.platter.dialect.Manifests;
import dev.platter.lab.Console;
import dev.platter.node.LocalNode;
import dev.platter.node.Node;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.node.VmStatus;
import dev.platter.node.program.Arguments;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;

/**
 * A node with real QEMU that has nothing on it yet, for one round; libvirt is shared with the other
 * rounds. Its daemon is a process of its own, and is up before any clock runs, as on every node.
 */
final class LabNode implements AutoCloseable {
  private static final long LOOK_NANOS = 1_000_000_000;

  private final Path directory;
  private final NodeConfig config;
  private final Node node;
  private long looked = System.nanoTime();

  private LabNode(Path directory, NodeConfig config) {
    this.directory = directory;
    this.config = config;
    this.node = LocalNode.open(config, Progress.NONE);
  }

  /**
   * @param directory is made, and removed when the node is closed
   * @param quiet as for {@link LabDaemon}
   * @param accelerator a file that remembers what finding out takes seconds for
   */
  static LabNode start(Path directory, String libvirt, Duration quiet, Path accelerator)
      throws Exception {
    var layout = layout(directory);
    Files.createDirectory(
        directory,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    Files.createDirectory(layout.state());
    if (Files.exists(accelerator)) {
      Files.copy(accelerator, layout.accelerator());
    }
    var config =
        new NodeConfig(
            layout,
            Optional.of(libvirt),
            Optional.empty(),
            LabDaemon.command(directory, libvirt, quiet));
    var node = new LabNode(directory, config);
    node.node.tidy();
    node.node.images().serveAgain("", "sha256:" + "0".repeat(64));
    return node;
  }

  static StateLayout layout(Path directory) {
    return new StateLayout(directory.resolve("state"), directory.resolve("run"));
  }

  StateLayout layout() {
    return config.layout();
  }

  VmStatus run(String yaml) throws IOException {
    return node.run(Manifests.read("vm.yaml", yaml).getFirst());
  }

  /** The same as another process on this machine would do it. */
  VmStatus runApart(String yaml) throws IOException {
    try (var other = LocalNode.open(config, Progress.NONE)) {
      return other.run(Manifests.read("vm.yaml", yaml).getFirst());
    }
  }

  /** Waits for a guest's words; fails if they do not come or the guest ends. */
  void await(VmStatus vm, String words, Duration limit) {
    Console.at(vm.consoleLog(), () -> running(vm)).await(words, limit);
  }

  /** Asks libvirt once a second: more would take CPU time from the guest that is timed. */
  private boolean running(VmStatus vm) {
    var now = System.nanoTime();
    if (now - looked < LOOK_NANOS) {
      return true;
    }
    looked = now;
    try {
      return node.status(vm.key()).phase() != VmStatus.Phase.STOPPED;
    } catch (IOException e) {
      return false;
    }
  }

  /** What the daemon has used so far. */
  double daemonCpuMillis() {
    return daemon()
        .flatMap(process -> process.info().totalCpuDuration())
        .orElseThrow(() -> new IllegalStateException("the daemon is gone"))
        .toMillis();
  }

  private Optional<ProcessHandle> daemon() {
    return processes().stream()
        .filter(process -> process.info().command().orElse("").endsWith("java"))
        .findFirst();
  }

  /** The daemon and the shell that watches it. */
  private List<ProcessHandle> processes() {
    return ProcessHandle.current()
        .descendants()
        .filter(process -> Arguments.of(process).contains(directory.toString()))
        .toList();
  }

  /** Ends guests and daemon, whatever state they are in. */
  @Override
  public void close() throws IOException {
    if (Files.exists(layout().accelerator())) {
      var memo = directory.resolveSibling(LabGuests.ACCELERATOR);
      if (!Files.exists(memo)) {
        Files.copy(layout().accelerator(), memo);
      }
    }
    for (var vm : node.list()) {
      node.remove(vm.key(), true);
    }
    node.close();
    var left = processes();
    daemon().ifPresent(ProcessHandle::destroy);
    for (var process : left) {
      try {
        process.onExit().get();
      } catch (InterruptedException | ExecutionException e) {
        throw new IOException("the daemon does not end", e);
      }
    }
    Tool.cleanUp("rm", "-rf", directory.toString());
  }
}
