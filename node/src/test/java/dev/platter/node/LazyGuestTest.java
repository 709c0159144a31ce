package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A VM that runs before its image is here: what the guest sees while daemon and registry fail. */
class LazyGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  private static final Duration LIMIT = Duration.ofMinutes(3);

  @TempDir Path work;
  private Registry registry;
  private Path data;
  private GuestNode guest;

  @BeforeEach
  void open() {
    registry = Registry.start();
  }

  @AfterEach
  void close() throws Exception {
    if (guest != null) {
      guest.close();
    }
    registry.close();
    TestDaemon.end(work);
  }

  private void node(Duration quiet) {
    guest = new GuestNode(work, LIBVIRT.uri(), TestDaemon.command(work, LIBVIRT.uri(), quiet));
  }

  /** A VM with a root disk and, as a second disk, an image that only it reads. */
  private VmStatus run() throws IOException {
    data = work.resolve("data.raw");
    Shell.run("sh", "-c", "head -c 50331648 /dev/urandom > " + data);
    return guest.run(
        """
        kind: VM
        metadata: {name: lazy}
        spec:
          domain:
            memory: {guest: 128Mi}
            devices:
              disks:
              - {name: root, source: {image: "%s"}, size: 1Gi, keep: true, target: {bus: virtio}}
              - {name: data, source: {image: "%s"}, access-mode: read-shared, copy: {mode: none}, target: {bus: virtio}}
        """
            .formatted(
                guest.pushSeekable(registry, "marker", MarkerGuest.raw()),
                guest.pushSeekable(registry, "data", data)));
  }

  private Set<ImageRecord.State> states() throws IOException {
    return guest.node().images().list().stream()
        .map(status -> status.image().state())
        .collect(Collectors.toSet());
  }

  private List<String> bases() throws IOException {
    return guest.node().images().list().stream()
        .map(status -> guest.layout().base(status.image().digest()).toString())
        .toList();
  }

  private void await(String what, Condition condition) throws Exception {
    var end = System.nanoTime() + LIMIT.toNanos();
    while (!condition.holds()) {
      assertThat(System.nanoTime()).as(what).isLessThan(end);
      Thread.sleep(50);
    }
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static String sha256(Path file) {
    return Shell.run("sha256sum", file).substring(0, 64);
  }

  @Test
  void aGuestBootsLazilySurvivesTheDaemonsDeathAndEndsOnThePlainFile() throws Exception {
    node(Duration.ofSeconds(2));
    var vm = run();
    assertThat(states()).containsOnly(ImageRecord.State.LAZY);
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    var before = TestDaemon.running(work);
    assertThat(before).hasSize(1);
    before.getFirst().destroyForcibly();
    guest.type(vm, "sha256sum $(disk data); dmesg | grep -i -c 'i/o error'");
    assertThat(console.await("[0-9a-f]{64}  /dev", LIMIT)).contains(sha256(data));
    console.await("^0$", LIMIT);
    await("sealed", () -> states().equals(Set.of(ImageRecord.State.SEALED)));
    await("QEMU has both files open", () -> openFiles(vm).containsAll(identities(bases())));
    for (var daemon : TestDaemon.running(work)) {
      daemon.destroyForcibly();
    }
    registry.goAway();
    guest.type(vm, "echo 3 > /proc/sys/vm/drop_caches; sha256sum $(disk data) | sed s/^/again:/");
    assertThat(console.await("again:[0-9a-f]{64}", LIMIT)).contains("again:" + sha256(data));
  }

  @Test
  void aGuestWaitsWhileTheRegistryIsAwayAndGoesOnWhenItIsBack() throws Exception {
    node(Duration.ofMinutes(5));
    var vm = run();
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    registry.goAway();
    guest.type(vm, "sha256sum $(disk data); dmesg | grep -i -c 'i/o error'");
    await(
        "the trouble shows",
        () -> guest.node().images().list().stream().anyMatch(image -> image.error() != null));
    assertThat(console.lines()).noneMatch(line -> line.contains("  /dev/"));
    registry.goOn();
    assertThat(console.await("[0-9a-f]{64}  /dev", LIMIT)).contains(sha256(data));
    console.await("^0$", LIMIT);
  }

  @Test
  void aDiskIsSnapshottedGrownMergedAndDetachedWhetherItsImageIsCompleteOrNot() throws Exception {
    node(Duration.ofSeconds(5));
    data = work.resolve("data.raw");
    Shell.run("sh", "-c", "head -c 50331648 /dev/urandom > " + data);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 1M 64k", data);
    var image = guest.pushSeekable(registry, "data", data);
    var vm =
        guest.run(
            """
            kind: VM
            metadata: {name: lazy}
            spec:
              domain:
                memory: {guest: 32Mi}
                devices:
                  disks:
                  - {name: root, source: {image: "%1$s"}, keep: true}
                  - {name: other, source: {image: "%1$s"}}
            """
                .formatted(image));
    var qemu = new RunningQemu(LIBVIRT.uri(), vm.plan().uuid());
    var disks = guest.node().disks(vm.key());
    disks.snapshot("root", "s1");
    qemu.write(34, "2M");
    disks.removeSnapshot("root", "s1");
    disks.snapshot("root", "s2");
    disks.grow("root", ByteSize.mebibytes(64));
    qemu.write(51, "3M");
    assertThat(states())
        .as("all of it before the image is here")
        .containsOnly(ImageRecord.State.LAZY);
    await("sealed", () -> states().equals(Set.of(ImageRecord.State.SEALED)));
    await("QEMU has the file open", () -> openFiles(vm).containsAll(identities(bases())));
    disks.detach("other");
    qemu.check(17, "1M");
    disks.removeSnapshot("root", "s2");
    for (var daemon : TestDaemon.running(work)) {
      daemon.destroyForcibly();
    }
    qemu.check(17, "1M");
    qemu.check(34, "2M");
    qemu.check(51, "3M");
    assertThat(qemu.virsh("qemu-monitor-command", qemu.uuid(), "--hmp", "info block -n").lines())
        .as("nodes that nobody needs any more")
        .filteredOn(line -> line.startsWith("platter-"))
        .hasSize(1);
  }

  /** What QEMU has open, as the kernel says; not by path, since it has mounts of its own. */
  private static Set<String> openFiles(VmStatus vm) throws IOException {
    var qemu = qemu(vm).orElseThrow();
    try (var descriptors = Files.list(Path.of("/proc", Long.toString(qemu), "fd"))) {
      return identities(descriptors.map(Path::toString).toList());
    }
  }

  /** Device and inode of files, as far as they are there. */
  private static Set<String> identities(List<String> files) {
    var out = new HashSet<String>();
    for (var file : files) {
      try {
        var path = Path.of(file);
        out.add(Files.getAttribute(path, "unix:dev") + ":" + Files.getAttribute(path, "unix:ino"));
      } catch (IOException e) {
        // A socket, or closed since.
      }
    }
    return out;
  }

  private static Optional<Long> qemu(VmStatus vm) {
    return ProcessHandle.allProcesses()
        .filter(
            process ->
                process.info().arguments().stream()
                    .flatMap(java.util.Arrays::stream)
                    .anyMatch(vm.plan().uuid().toString()::equals))
        .map(ProcessHandle::pid)
        .findFirst();
  }
}
