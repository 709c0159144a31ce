package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What sweeps share: one VM, described in a file that the processes which are killed read too, on a
 * node of its own; and beside it, in the same libvirt and pool, what is not Platter's.
 */
final class Sweep {
  static final VmKey KEY = new VmKey("default", "sweep");

  private static final String FOREIGN_SECRET = "7a0e8e7e-1111-4222-8333-944455566677";
  private static final String FOREIGN_FILE = "somebody-elses.qcow2";

  private final Path work;
  private final PrivateLibvirtExtension libvirt;
  private String foreignDomain = "";

  /**
   * @param manifest a VM of the name {@code sweep}, and what it refers to
   */
  Sweep(Path work, PrivateLibvirtExtension libvirt, String manifest) throws IOException {
    this.work = work;
    this.libvirt = libvirt;
    Files.writeString(manifest(work), manifest);
  }

  private static Path manifest(Path work) {
    return work.resolve("sweep.yaml");
  }

  static Objects objects(Path work) throws IOException {
    return Manifests.objects("sweep.yaml", Files.readString(manifest(work)));
  }

  static NodeConfig config(Path work, String uri) {
    return new NodeConfig(
        new StateLayout(work.resolve("state"), work.resolve("run")),
        Optional.of(uri),
        Optional.empty());
  }

  StateLayout layout() {
    return config(work, "").layout();
  }

  Node node() {
    return LocalNode.open(config(work, libvirt.uri()), Progress.NONE);
  }

  void run(Node node) throws IOException {
    var objects = objects(work);
    node.run(objects.vms().getFirst(), objects);
  }

  /** Secrets are given again, since nobody has kept them. */
  void startAgain(Node node) throws IOException {
    node.start(KEY, objects(work).secrets());
  }

  UUID uuid() throws IOException {
    return objects(work).vms().getFirst().uuid();
  }

  RunningQemu qemu() throws IOException {
    return new RunningQemu(libvirt.uri(), uuid());
  }

  Path disk(String name, String suffix) throws IOException {
    return layout().disk("default", uuid(), name, suffix);
  }

  List<Step> steps() throws IOException {
    var objects = objects(work);
    try (var node = node()) {
      return node.plan(objects.vms().getFirst(), objects).plan().steps();
    }
  }

  Stream<String> moments(Step.Life life, String... phases) throws IOException {
    var steps = steps();
    return Stream.of(phases)
        .flatMap(
            phase ->
                IntStream.range(0, steps.size())
                    .filter(i -> steps.get(i).life() == life)
                    .mapToObj(i -> phase + ":" + i));
  }

  Stream<String> moments(String... phases) throws IOException {
    return Stream.concat(moments(Step.Life.RUN, phases), moments(Step.Life.VM, phases));
  }

  /**
   * Does the command in a process that is killed at the moment; false if there was none and it
   * ended. The moments {@code unrecorded:3} and {@code unrecordedUndo:3} are those after the step
   * is done, or undone, in the middle of the write that records it.
   */
  boolean kill(String command, String moment) throws Exception {
    var reached = moment.replace("unrecordedUndo:", "afterUndo:").replace("unrecorded:", "after:");
    var died = KilledProcess.run(command, reached, work, libvirt.uri());
    if (!reached.equals(moment)) {
      tearLastRecord();
    }
    return died;
  }

  private void tearLastRecord() throws IOException {
    var journal = layout().journal(layout().vm(KEY));
    var end = Files.readString(journal, StandardCharsets.ISO_8859_1).lastIndexOf('\n');
    try (var channel = FileChannel.open(journal, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(4), end - 3);
    }
  }

  String virsh(Object... arguments) {
    return Shell.run(
        Stream.concat(Stream.of("virsh", "-q", "-c", libvirt.uri()), Stream.of(arguments))
            .toArray());
  }

  /** Called once. */
  void makeForeigners() throws IOException {
    Files.writeString(
        Files.createDirectories(layout().pool("default")).resolve(FOREIGN_FILE), "not ours");
    var secret = work.resolve("secret.xml");
    Files.writeString(
        secret,
        "<secret ephemeral='yes' private='yes'><uuid>"
            + FOREIGN_SECRET
            + "</uuid><usage type='ceph'><name>foreign</name></usage></secret>");
    virsh("secret-define", secret);
  }

  /** Called for each test, since the extension ends all domains after each. */
  void startForeignDomain() throws IOException {
    var domain = work.resolve("foreign.xml");
    Files.writeString(
        domain,
        "<domain type='qemu'><name>foreign</name><memory unit='MiB'>16</memory><os><type>hvm</type></os></domain>");
    virsh("create", domain, "--paused");
    foreignDomain = virsh("domuuid", "foreign").strip();
  }

  void removeForeignSecret() {
    virsh("secret-undefine", FOREIGN_SECRET);
  }

  void assertForeignersAreUntouched() throws IOException {
    assertThat(virsh("domstate", "foreign")).contains("paused");
    assertThat(virsh("secret-list")).contains(FOREIGN_SECRET);
    assertThat(layout().pool("default").resolve(FOREIGN_FILE)).hasContent("not ours");
  }

  List<String> leases() throws IOException {
    return names(layout().leases()).stream().filter(name -> name.endsWith(".json")).toList();
  }

  /** The names of our files in the pool. */
  List<String> disks() throws IOException {
    return names(layout().pool("default")).stream()
        .filter(name -> !name.equals(FOREIGN_FILE))
        .toList();
  }

  static List<String> names(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return List.of();
    }
    try (var files = Files.list(directory)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  /** What a VM that does not run has no use for. */
  void assertNothingRuns() throws IOException {
    assertThat(names(layout().runVms())).isEmpty();
    assertThat(virsh("list", "--all", "--uuid").strip()).isEqualTo(foreignDomain);
    assertThat(virsh("secret-list").strip().lines())
        .singleElement()
        .asString()
        .contains(FOREIGN_SECRET);
    assertThat(readers()).isEmpty();
  }

  void assertNothingIsLeft() throws IOException {
    assertNothingRuns();
    assertThat(names(layout().vms())).isEmpty();
    assertThat(disks()).isEmpty();
    assertThat(leases()).isEmpty();
    assertThat(names(layout().spool())).isEmpty();
  }

  /** The qemu-nbd of this node. The kernel kills them together with us, but not in an instant. */
  private List<Path> readers() throws IOException {
    var end = System.nanoTime() + 5_000_000_000L;
    while (true) {
      try (var processes = Files.list(Path.of("/proc"))) {
        var found = processes.filter(this::isReader).toList();
        if (found.isEmpty() || System.nanoTime() - end > 0) {
          return found;
        }
      }
    }
  }

  private boolean isReader(Path process) {
    try {
      var line = Files.readString(process.resolve("cmdline"), StandardCharsets.ISO_8859_1);
      return line.contains("qemu-nbd\0") && line.contains("=" + layout().run());
    } catch (IOException e) {
      return false; // no process, or it has ended
    }
  }
}
