package dev.platter.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.SimpleFileServer;
import dev.platter.block.nbd.DiskCopy;
import dev.platter.dialect.Manifests;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.model.Pool;
import dev.platter.node.Progress;
import dev.platter.node.fill.DiskUpload;
import dev.platter.node.fill.UploadServer;
import dev.platter.node.network.RemoteDisk;
import dev.platter.node.network.Target;
import dev.platter.plan.NodeFacts;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Planner;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the AOT cache is made from: one JVM that does what people wait for. A cache can be recorded
 * from one run only, hence one program that does it all. Nothing is left of it.
 */
final class Training {
  private static final int DISK = 8 << 20;

  /** Each makes OUT of the raw disk IN. */
  private static final List<String> PACKED =
      List.of(
          "qemu-img convert -f raw -O qcow2 IN OUT",
          "qemu-img convert -c -f raw -O qcow2 IN OUT",
          "gzip -c IN >OUT",
          "xz -0 -c IN >OUT",
          "zstd -q -c IN >OUT");

  private static final ObjectMapper JSON = new ObjectMapper();

  private Training() {}

  public static void main(String[] args) throws IOException {
    PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
    Main.run(nowhere, nowhere, "--help");
    Main.run(nowhere, nowhere, "--version");
    Main.run(nowhere, nowhere, "completion");
    Main.run(nowhere, nowhere, "no-such-command");
    Path work = Files.createTempDirectory("platter-training-");
    Path state = work.resolve("state");
    try {
      plan(state);
      overlay(work.resolve("overlay.qcow2"));
      cloneDisk(work);
      fill(work, nowhere);
      Main.run(nowhere, nowhere, "ps", "--all", "--state", state.toString());
      Main.run(nowhere, nowhere, "ps", "-o", "json", "--state", state.toString());
      Main.run(nowhere, nowhere, "images", "--state", state.toString());
      Main.run(nowhere, nowhere, "rm", "nobody", "--state", state.toString());
    } finally {
      try (var files = Files.walk(work)) {
        for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
  }

  private static void plan(Path state) {
    var text =
        "kind: VM\nspec: {cloudInit: {}, domain: {devices: {disks: [{source: {image: a}}]}}}\n";
    var vm = Manifests.read("training.yaml", text).getFirst();
    var layout = new StateLayout(state, state.resolve("run"));
    var facts =
        new NodeFacts(
            layout,
            NodeFacts.Accelerator.TCG,
            "",
            "containerd",
            "qemu",
            Map.of("a", "sha256:" + "0".repeat(64)),
            Map.of(Pool.DEFAULT, layout.pool(Pool.DEFAULT).toString()));
    var plan = Planner.plan(vm, facts).plan();
    if (!PlanJson.read(PlanJson.write(plan)).equals(plan)) {
      throw new IllegalStateException("a plan read back is another plan");
    }
  }

  private static void overlay(Path file) throws IOException {
    Qcow2Overlay.create(file, new Qcow2Overlay.Backing("/training", "raw"), 1 << 30);
  }

  /**
   * A disk on the network, but for the network: QEMU's program opens it, and half of it is zero.
   */
  private static void cloneDisk(Path work) throws IOException {
    var disk = Files.write(work.resolve("disk.raw"), half(DISK));
    var options = JSON.writeValueAsString(Map.of("driver", "file", "filename", disk.toString()));
    try (var remote = RemoteDisk.open(new Target(options, List.of()), work.resolve("run"))) {
      DiskCopy.toNewFile(remote, work.resolve("clone.raw"), remote.size(), (_, _) -> {});
    } catch (IOException e) {
      // QEMU's tools may come after the build; the cache is good for all the rest.
    }
  }

  /** From a web server, and to one, in each form that has a decoder of its own. */
  private static void fill(Path work, PrintWriter nowhere) throws IOException {
    var disk = work.resolve("disk.raw");
    fill(disk, work, nowhere);
    for (var command : PACKED) {
      var file = work.resolve("disk.packed");
      if (made(command, disk, file)) {
        fill(file, work, nowhere);
      }
    }
  }

  /** False where the program comes after the build; the cache is good for all the rest. */
  private static boolean made(String command, Path disk, Path file) throws IOException {
    var shell = command.replace("IN", disk.toString()).replace("OUT", file.toString());
    var process = new ProcessBuilder("sh", "-c", shell).redirectErrorStream(true).start();
    process.getInputStream().readAllBytes();
    try {
      return process.waitFor() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static void fill(Path file, Path work, PrintWriter nowhere) throws IOException {
    var state = work.resolve("fills");
    var volumes = Files.createTempDirectory(work, "volumes-");
    var here = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var web = SimpleFileServer.createFileServer(here, work, SimpleFileServer.OutputLevel.NONE);
    web.start();
    try {
      var url = "http://127.0.0.1:%d/%s".formatted(web.getAddress().getPort(), file.getFileName());
      var volume = Files.createDirectory(volumes.resolve("imported"));
      Preparation.begin("import");
      Main.run(nowhere, nowhere, "import", url, volume.toString(), "--state", state.toString());
    } finally {
      web.stop(0);
    }
    var options =
        new UploadServer.Options(
            here,
            new StateLayout(state, state.resolve("run")),
            Files.createDirectory(volumes.resolve("uploaded")),
            0,
            false,
            null,
            Optional.empty(),
            Duration.ofMinutes(1));
    try (var server = UploadServer.start(options)) {
      var url = URI.create("http://127.0.0.1:%d/disk".formatted(server.address().getPort()));
      new DiskUpload(file, url, Optional.empty(), 1, Duration.ZERO).run(Progress.NONE);
    }
  }

  private static byte[] half(int size) {
    var bytes = new byte[size];
    Arrays.fill(bytes, 0, size / 2, (byte) 1);
    return bytes;
  }
}
