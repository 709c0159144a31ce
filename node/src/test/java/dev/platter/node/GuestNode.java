package dev.platter.node;

import dev.platter.dialect.Manifests;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.lab.Console;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A node with real libvirt and QEMU in a directory of its own, and what a user would do with it.
 */
final class GuestNode implements AutoCloseable {
  static final Duration BOOT = Duration.ofMinutes(4);

  private static final Path MEMO = Path.of("target", "accelerator").toAbsolutePath();

  private final Path work;
  private final NodeConfig config;
  private final Node node;
  private final Map<String, SocketChannel> keyboards = new HashMap<>();

  GuestNode(Path work, String uri) {
    this(work, uri, List.of());
  }

  /**
   * @param daemon the command that runs the daemon; none if empty
   */
  GuestNode(Path work, String uri, List<String> daemon) {
    this(work, uri, daemon, Optional.empty(), Progress.NONE);
  }

  /**
   * @param file the node's configuration
   */
  GuestNode(Path work, String uri, List<String> daemon, Optional<Path> file, Progress progress) {
    this(
        work,
        new NodeConfig(layout(work), Optional.of(uri), Optional.empty(), daemon, file),
        progress);
  }

  /**
   * @param config with the layout of {@code work}
   */
  GuestNode(Path work, NodeConfig config, Progress progress) {
    this.work = work;
    this.config = config;
    rememberAccelerator();
    this.node = LocalNode.open(config, progress);
  }

  /** Finding out that KVM does not work takes seconds, so it is done once for all nodes. */
  private void rememberAccelerator() {
    try {
      Files.createDirectories(layout().state());
      if (Files.exists(MEMO) && !Files.exists(layout().accelerator())) {
        Files.copy(MEMO, layout().accelerator());
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  StateLayout layout() {
    return layout(work);
  }

  static StateLayout layout(Path work) {
    return new StateLayout(work.resolve("state"), work.resolve("run"));
  }

  NodeConfig config() {
    return config;
  }

  Node node() {
    return node;
  }

  /** Pushes a disk as a container image and returns the reference to it. */
  String push(String tag, Path disk) throws IOException {
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add(tag, Platform.LINUX_AMD64, disk.getFileName().toString(), disk);
    return "oci:" + layout + ":" + tag;
  }

  /** Pushes a disk as an image that can be read in chunks, to a registry. */
  String pushSeekable(Registry registry, String name, Path raw) throws IOException {
    var layout = work.resolve("layout");
    try (var disk = RawDisk.open(raw)) {
      new OciLayoutWriter(layout)
          .add(
              name,
              Platform.LINUX_AMD64,
              out -> new SeekableLayerWriter(2).write(out, name, disk).layer());
    }
    var reference = registry.address() + "/disks/" + name + ":1";
    Shell.run(
        "skopeo",
        "copy",
        "-q",
        "--dest-tls-verify=false",
        "oci:" + layout + ":" + name,
        "docker://" + reference);
    return reference;
  }

  /** The same, named by its digest as identities name images. */
  String pushPinned(Registry registry, String name, Path raw) throws IOException {
    var tagged = pushSeekable(registry, name, raw);
    var digest =
        Shell.run(
            "skopeo",
            "inspect",
            "--tls-verify=false",
            "--format={{.Digest}}",
            "docker://" + tagged);
    return tagged.substring(0, tagged.lastIndexOf(':')) + "@" + digest.strip();
  }

  VmStatus run(String yaml) throws IOException {
    var objects = Manifests.objects("vm.yaml", yaml);
    var vm = objects.vms().getFirst();
    node.identities().ensure(vm);
    return node.run(vm, objects);
  }

  Console console(VmStatus vm) {
    return Console.at(vm.consoleLog(), () -> running(vm));
  }

  private boolean running(VmStatus vm) {
    try {
      return node.status(vm.key()).phase() != VmStatus.Phase.STOPPED;
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Types a line on the console. The connection stays open: the guest takes sixteen bytes at a
   * time, and what it has not taken is lost when the connection ends.
   */
  void type(VmStatus vm, String line) throws IOException {
    var keyboard = keyboards.get(vm.key().name());
    if (keyboard == null) {
      keyboard = SocketChannel.open(StandardProtocolFamily.UNIX);
      keyboard.connect(UnixDomainSocketAddress.of(vm.consoleSocket()));
      keyboards.put(vm.key().name(), keyboard);
      var screen = keyboard;
      Thread.ofVirtual().start(() -> discard(screen));
    }
    keyboard.write(ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8)));
  }

  /** What nobody reads would make the guest wait; the console's log has it anyway. */
  private static void discard(SocketChannel screen) {
    try {
      var buffer = ByteBuffer.allocate(4096);
      while (screen.read(buffer.clear()) >= 0) {}
    } catch (IOException e) {
      // It was hung up.
    }
  }

  /** Lets go of the console, which ends with the VM. */
  void hangUp(VmStatus vm) throws IOException {
    var keyboard = keyboards.remove(vm.key().name());
    if (keyboard != null) {
      keyboard.close();
    }
  }

  @Override
  public void close() throws IOException {
    if (Files.exists(layout().accelerator()) && !Files.exists(MEMO)) {
      Files.writeString(MEMO, Files.readString(layout().accelerator()));
    }
    for (var keyboard : keyboards.values()) {
      keyboard.close();
    }
    for (var vm : node.list()) {
      node.remove(vm.key(), true);
    }
    node.close();
  }
}
