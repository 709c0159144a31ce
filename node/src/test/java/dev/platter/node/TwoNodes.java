package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;

/** Two nodes of one machine, each with a libvirt of its own, and one VM that is on one of them. */
record TwoNodes(Path work, PrivateLibvirtExtension a, PrivateLibvirtExtension b) {
  static final VmKey KEY = new VmKey("default", "mover");

  /** A disk of 8 MiB whose second and third MiB are full of 17. */
  void makeImage() throws IOException {
    var image = work.resolve("image.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", image, "8M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 1M 2M", image);
    new OciLayoutWriter(work.resolve("layout")).add("t", Platform.LINUX_AMD64, "image.raw", image);
  }

  /** A VM with one disk of each kind that is copied; it has no system to boot. */
  String manifest(String more) {
    return """
    kind: VM
    metadata: {name: mover}
    spec:
      cloudInit: {userData: {hostname: mover}}
      domain:
        memory: {guest: 32Mi}
        devices:
          disks:
          - {name: root, source: {image: "oci:%1$s/layout:t"}, size: 16Mi, keep: true}
          - {name: clone, source: {image: "oci:%1$s/layout:t"}, copy: {mode: clone}}
          - {name: blank, source: {blank: {}}, size: 1Mi}
    %2$s
    """
        .formatted(work, more.indent(6));
  }

  private UUID uuid() {
    return Manifests.objects("vm.yaml", manifest("")).vms().getFirst().uuid();
  }

  private static Path directory(Path work, int node) {
    return work.resolve(node == 0 ? "a" : "b");
  }

  StateLayout layout(int node) {
    return GuestNode.layout(directory(work, node));
  }

  Path disk(int node, String name, String suffix) {
    return layout(node).disk("default", uuid(), name, suffix);
  }

  /** Starts libvirt again if it was killed. */
  String uri(int node) {
    return (node == 0 ? a : b).uri();
  }

  GuestNode open(int node, Progress progress) {
    return open(work, node, uri(node), progress);
  }

  static GuestNode open(Path work, int node, String uri, Progress progress) {
    return new GuestNode(directory(work, node), uri, List.of(), Optional.empty(), progress);
  }

  static NodeConfig config(Path work, int node, String uri) {
    return new NodeConfig(
        GuestNode.layout(directory(work, node)), Optional.of(uri), Optional.empty());
  }

  /** A node whose VMs go on when it is closed. */
  Node node(int node, Progress progress) {
    return LocalNode.open(config(work, node, uri(node)), progress);
  }

  void run(Node node) throws IOException {
    run(node, "");
  }

  /**
   * @param more disks
   */
  void run(Node node, String more) throws IOException {
    var objects = Manifests.objects("vm.yaml", manifest(more));
    node.run(objects.vms().getFirst(), objects);
  }

  /** What the VM has to be at the node that it comes to. */
  Planned planArriving(Node node, Plan sent, String more) throws IOException {
    var objects = Manifests.objects("vm.yaml", manifest(more));
    return node.planArriving(objects.vms().getFirst(), objects, sent.images());
  }

  /** Ends the VM's QEMU on a node as a power loss would. */
  void killQemu(int node) throws IOException {
    kill(QemuProcess.pid(uuid(), layout(node).consoleSocket(uuid())));
    while (!virsh(node, "list", "--all", "--uuid").isBlank()) {
      Thread.onSpinWait();
    }
  }

  /** Another takes its place. */
  void killLibvirt(int node) throws IOException {
    var pid = (node == 0 ? a : b).directory().resolve("run/libvirtd.pid");
    kill(Long.parseLong(Files.readString(pid).strip()));
    uri(node);
  }

  private static void kill(long pid) {
    var process = ProcessHandle.of(pid).orElseThrow();
    process.destroyForcibly();
    process.onExit().join();
  }

  static int other(int node) {
    return 1 - node;
  }

  String virsh(int node, Object... arguments) {
    return Shell.run(
        Stream.concat(Stream.of("virsh", "-q", "-c", uri(node)), Stream.of(arguments)).toArray());
  }

  RunningQemu qemu(int node) {
    return new RunningQemu(uri(node), uuid());
  }

  /** The one node whose libvirt runs the VM. */
  int runsOn() {
    var running =
        Stream.of(0, 1)
            .map(node -> !virsh(node, "list", "--state-running", "--uuid").isBlank())
            .toList();
    assertThat(running).as("which nodes run the VM").containsOnlyOnce(true);
    return running.indexOf(true);
  }

  /** Nothing of the VM is on the node, in libvirt or in files. */
  void assertNothingIsOn(int node) throws IOException {
    var layout = layout(node);
    assertThat(virsh(node, "list", "--all", "--uuid")).isBlank();
    assertThat(Sweep.names(layout.vms())).isEmpty();
    assertThat(Sweep.names(layout.runVms())).isEmpty();
    assertThat(Sweep.names(layout.pool("default"))).isEmpty();
    assertThat(Sweep.names(layout.leases())).noneMatch(name -> name.endsWith(".json"));
    assertThat(Sweep.names(layout.arrivals())).isEmpty();
  }
}
