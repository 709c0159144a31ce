package dev.platter.cli;

import dev.platter.dialect.Manifests;
import dev.platter.image.oci.Platform;
import dev.platter.image.seekable.SeekableLayerWriter;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Node;
import dev.platter.node.Progress;
import dev.platter.node.VmStatus;
import dev.platter.node.durable.Cancellation;
import dev.platter.plan.Step;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Locale;
import picocli.CommandLine.Command;

/**
 * A VM from a container image, in one go: boot, write a file, stop, boot again, find the file; and
 * how long its disk took beside qemu-img. Leaves the pulled image, which 'platter gc' removes, and
 * nothing else.
 */
@Command(
    name = "demo",
    description = "Boot a VM from a container image, keep what it writes, and show the times.")
final class DemoCommand extends NodeCommand {
  private static final String VM = "platter-demo";
  private static final ByteSize ROOT_SIZE = ByteSize.mebibytes(1024);
  private static final Duration BOOT = Duration.ofMinutes(3);
  private static final String PROMPT = "platter-guest# ";

  @Override
  Progress progress() {
    return new Steps();
  }

  @Override
  void run(Node opened) throws Exception {
    var home = home();
    var work = Files.createTempDirectory("platter-demo-");
    try {
      say("1. Build a small guest from Debian's kernel and busybox (cached)");
      var guest = buildGuest(home);
      say("2. Push its disk as a container image: oci:" + work.resolve("layout") + ":demo");
      push(guest, work.resolve("layout"));
      removeLeftOver(opened);
      say("3. Run a VM from it, with a root disk that is kept");
      var vm = opened.run(Manifests.read(VM + ".yaml", manifest(work)).getFirst());
      var base = opened.layout().base(vm.plan().images().values().iterator().next());
      try {
        session(opened, "echo written by the first boot > /data/hello; sync; cat /data/hello");
        say("4. Stop it, and boot it again from the overlay that was kept");
        opened.stop(vm.key(), Duration.ofSeconds(20));
        opened.start(vm.key());
        var seen = session(opened, "cat /data/hello");
        if (!seen.contains("written by the first boot")) {
          throw PlatterException.of(
              Code.INTERNAL,
              "the second boot did not find the file of the first",
              "This is a bug; please report it.");
        }
        out().println("   The file is there.");
        completeImages(opened, vm);
      } finally {
        Cancellation.shield(() -> remove(opened));
      }
      say("5. How long such a disk takes to become ready");
      new DemoTimes(guest, base, ROOT_SIZE.bytes(), work).print(out());
    } finally {
      Cancellation.shield(() -> deleteTree(work));
    }
  }

  /** The layout goes away with the demo, and the image is to outlive it. */
  private static void completeImages(Node opened, VmStatus vm) throws IOException {
    for (var image : vm.plan().images().entrySet()) {
      opened.images().complete(image.getKey(), image.getValue(), Progress.NONE);
    }
  }

  /** The repository, whose guest/ directory has the recipe. */
  private static Path home() {
    var home = System.getProperty("platter.home");
    if (home == null) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the demo needs the repository",
          "Start it with ./platter demo in a clone.");
    }
    return Path.of(home);
  }

  private Path buildGuest(Path home) throws IOException, InterruptedException {
    var cacheHome = System.getenv("XDG_CACHE_HOME");
    var cache =
        cacheHome == null || cacheHome.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(cacheHome);
    var directory = cache.resolve("platter").resolve("guest-marker");
    var build = home.resolve("guest/marker/build").toString();
    var process = new ProcessBuilder(build, directory.toString()).inheritIO().start();
    if (process.waitFor() != 0) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "the guest could not be built", "Its own message is above.");
    }
    return directory.resolve("marker.qcow2");
  }

  private static void push(Path guest, Path layout) throws IOException {
    try (var disk = DiskFile.open(guest, DiskFile.Format.QCOW2)) {
      var writer = new SeekableLayerWriter(Runtime.getRuntime().availableProcessors());
      new PushTarget.Layout(layout, "demo")
          .push(out -> writer.write(out, "disk", disk.disk()), Platform.LINUX_AMD64, false);
    }
  }

  private String manifest(Path work) {
    return """
    kind: VirtualMachine
    metadata: {name: %s, namespace: %s}
    spec:
      domain:
        memory: {guest: 128Mi}
        devices:
          disks:
          - name: root
            source: {image: "oci:%s:demo"}
            size: %s
            keep: true
    """
        .formatted(VM, node.namespace, work.resolve("layout"), ROOT_SIZE);
  }

  private void removeLeftOver(Node opened) throws IOException {
    if (opened.list().stream().anyMatch(vm -> vm.key().equals(node.vm(VM)))) {
      remove(opened);
    }
  }

  private void remove(Node opened) {
    try {
      opened.remove(node.vm(VM), true);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Shows the console until the guest asks for a command, gives it one, and returns what came back.
   */
  private String session(Node opened, String command) throws IOException {
    var socket = opened.status(node.vm(VM)).consoleSocket();
    try (var dialogue = new ConsoleDialogue(socket, out(), BOOT)) {
      dialogue.nudge(PROMPT);
      return dialogue.command(command, PROMPT);
    }
  }

  private void say(String text) {
    out().println("\n" + (Terminal.onOutput() ? "\u001b[1m" + text + "\u001b[0m" : text));
    out().flush();
  }

  private static void deleteTree(Path directory) {
    try (var files = Files.walk(directory)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Tells what each step did and how long it took. */
  private final class Steps implements Progress {
    private long started;

    @Override
    public void before(Step step) {
      started = System.nanoTime();
    }

    @Override
    public void after(Step step) {
      out()
          .printf(
              Locale.ROOT,
              "   ✓ %s  (%.1f ms)%n",
              step.summary(),
              (System.nanoTime() - started) / 1e6);
      out().flush();
    }
  }
}
