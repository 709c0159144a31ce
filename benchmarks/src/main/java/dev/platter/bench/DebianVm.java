package dev.platter.bench;

import dev.platter.bench.ShapedLink.Shape;
import dev.platter.lab.Registry;
import dev.platter.node.VmStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The Debian guest, booted in the two ways that are compared. */
final class DebianVm {
  private static final Duration LIMIT = Duration.ofMinutes(8);

  private DebianVm() {}

  /**
   * One boot.
   *
   * @param bytes through the link before the prompt
   * @param startMillis until QEMU runs
   * @param promptMillis until the guest takes commands
   * @param cpuMillis of all that is not QEMU or libvirt
   */
  record Boot(long bytes, double startMillis, double promptMillis, double cpuMillis) {}

  static String image(String reference) {
    return yaml("image: \"" + reference + "\"");
  }

  private static String yaml(String source) {
    return """
        kind: VM
        metadata: {name: debian}
        spec:
          cloudInit: {userData: "#cloud-config\\n#marker: touch /run/stay\\n"}
          domain:
            memory: {guest: 384Mi}
            devices:
              disks:
              - {name: root, source: {%s}, target: {bus: virtio}}
        """
        .formatted(source);
  }

  /** Returns when the guest shows its prompt. */
  static VmStatus boot(LabNode node, String yaml) throws IOException {
    var vm = node.run(yaml);
    awaitPrompt(node, vm);
    return vm;
  }

  private static void awaitPrompt(LabNode node, VmStatus vm) {
    node.await(vm, "^@@RC 0 touch", LIMIT);
    node.await(vm, "platter-guest# ", LIMIT);
  }

  static Boot lazily(LabGuests guests, Registry registry, PushedImage image, Shape shape)
      throws Exception {
    try (var link = new ShapedLink(registry.address(), shape);
        var node = guests.freshNode()) {
      var cpu = node.daemonCpuMillis();
      var watch = Stopwatch.start();
      var vm = node.run(image(image.at(link.address())));
      var start = watch.stop().millis();
      awaitPrompt(node, vm);
      var bytes = link.bytes();
      var prompt = watch.stop();
      return new Boot(
          bytes, start, prompt.millis(), prompt.cpuMillis() + node.daemonCpuMillis() - cpu);
    }
  }

  static Boot pulled(
      LabGuests guests, Path directory, Registry registry, PushedImage image, Shape shape)
      throws Exception {
    Files.createDirectories(directory);
    try (var link = new ShapedLink(registry.address(), shape);
        var node = guests.freshNode()) {
      var watch = Stopwatch.start();
      var raw = pull(directory, image.at(link.address()));
      var vm = node.run(yaml("file: " + raw));
      var start = watch.stop().millis();
      awaitPrompt(node, vm);
      var prompt = watch.stop();
      return new Boot(link.bytes(), start, prompt.millis(), prompt.cpuMillis());
    } finally {
      Tool.cleanUp("rm", "-rf", directory.toString());
    }
  }

  private static Path pull(Path directory, String reference) throws Exception {
    var layout = directory.resolve("layout");
    var bundle = directory.resolve("bundle");
    Tool.time(
        "skopeo",
        "copy",
        "-q",
        "--src-tls-verify=false",
        "docker://" + reference,
        "oci:" + layout + ":image");
    Tool.time("umoci", "unpack", "--image", layout + ":image", bundle.toString());
    var raw = directory.resolve("disk.raw");
    Tool.time(
        "qemu-img",
        "convert",
        "-m",
        "16",
        "-W",
        "-O",
        "raw",
        only(bundle.resolve("rootfs/disk")).toString(),
        raw.toString());
    return raw;
  }

  private static Path only(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      var all = files.toList();
      if (all.size() != 1) {
        throw new IOException("not one disk: " + all);
      }
      return all.getFirst();
    }
  }
}
