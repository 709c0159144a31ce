package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import dev.platter.model.DeviceSource;
import dev.platter.model.Disk;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.LiveEffect;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Devices that VMs name, with real QEMU. */
class RawDeviceNodeTest {
  private static final VmKey KEY = new VmKey("default", "vm");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private Path shared = Path.of("/");
  private LoopDevice first;
  private LoopDevice second;

  @BeforeEach
  void makeDevices() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    shared = Files.createTempDirectory(Path.of("/dev/shm"), "platter-");
    first = device("first");
    second = device("second");
  }

  @AfterEach
  void removeDevices() {
    if (first != null) {
      first.close();
      second.close();
      Shell.run("rm", "-r", shared);
    }
  }

  private LoopDevice device(String name) {
    var file = work.resolve(name);
    Shell.run("sh", "-c", "yes %s | head -c 1048576 > %s".formatted(name, file));
    return LoopDevice.attach(file);
  }

  private NodeConfig config(String rawDevices) {
    return new NodeConfig(GuestNode.layout(work), Optional.of(LIBVIRT.uri()), Optional.empty())
        .withRawDevices(RawDevices.parse(rawDevices));
  }

  /** A VM that nobody looks into, with one disk from a device. */
  private static Vm vm(String disk, Object device, boolean listed) {
    var vm =
        Manifests.objects(
                "t.yaml",
                "kind: VM\nmetadata: {name: vm}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
                    .formatted(disk))
            .vms()
            .getFirst();
    return vm.withDisks(vm.disks().stream().map(found -> from(found, device, listed)).toList());
  }

  private static Disk from(Disk disk, Object device, boolean listed) {
    return disk.withSource(new DeviceSource(device.toString(), listed));
  }

  private static String domains() {
    return Shell.run("virsh", "-c", LIBVIRT.uri(), "list", "--all", "--name").strip();
  }

  @Test
  void aVmGetsADeviceThatIsOnTheListAndNoOther() throws IOException {
    var disk = "{name: d, source: {pvc: x}}";
    try (var guest = new GuestNode(work, config("loop*"), Progress.NONE)) {
      guest.node().run(vm(disk, first.path(), true));
      var qemu = new RunningQemu(LIBVIRT.uri(), guest.node().status(KEY).plan().uuid());
      assertThat(qemu.virsh("domblklist", qemu.uuid())).contains(first.path().toString());
      assertThat(qemu.size("sda")).isEqualTo(1 << 20);
      guest.node().stop(KEY, Duration.ZERO);
    }
    try (var guest = new GuestNode(work, config("none"), Progress.NONE)) {
      assertThatThrownBy(() -> guest.node().run(vm(disk, first.path(), true)))
          .as("at each start")
          .hasMessageContaining(
              "is not on the list of devices that this machine gives to VMs (none)");
      assertThat(guest.node().list()).isEmpty();
      guest.node().run(vm(disk, first.path(), false));
    }
    assertThat(domains()).isEmpty();
  }

  @Test
  void aCloneIsMadeOnlyOfADeviceThatIsOnTheList() throws IOException {
    var disk = "{name: d, source: {pvc: x}, copy: {mode: clone}, size: 2Mi}";
    try (var guest = new GuestNode(work, config("none"), Progress.NONE)) {
      assertThatThrownBy(() -> guest.node().run(vm(disk, first.path(), true)))
          .hasMessageContaining("is not on the list");
      assertThat(guest.node().list()).isEmpty();
    }
    var link = Files.createSymbolicLink(shared.resolve("link"), first.path());
    try (var guest = new GuestNode(work, config("loop*,shm/*/link"), Progress.NONE)) {
      var status = guest.node().run(vm(disk, link, true));
      var clone = guest.layout().disk("default", status.plan().uuid(), "d", "raw");
      Shell.run("cmp", "-n", 1 << 20, clone, work.resolve("first"));
      assertThat(clone).hasSize(2 << 20);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "true|{source: {pvc: x}}",
        "false|{source: {pvc: x}}",
        "true|{source: {pvc: x}, access-mode: read-shared}",
        "true|{source: {pvc: x}, copy: {mode: copy-on-write}}",
      })
  void aDeviceThatIsExchangedDuringTheStartIsNeverRun(boolean listed, String disk)
      throws IOException {
    var link = Files.createSymbolicLink(shared.resolve("link"), first.path());
    var config = config("loop*,shm/*/link");
    try (var node =
        LocalNode.open(
            config,
            new SwappingMachine(
                new LocalMachine(config.layout(), config.connect()),
                () -> Shell.run("ln", "-sfn", second.path(), link)),
            Progress.NONE)) {
      var refused =
          catchThrowableOfType(
              PlatterException.class, () -> node.run(vm(disk, link, listed), Objects.NONE));
      assertThat(refused)
          .hasMessage(link + " was exchanged for something else after it was checked");
      assertThat(refused.code()).isEqualTo(Code.REFUSED);
      assertThat(node.list()).isEmpty();
    }
    assertThat(domains()).isEmpty();
  }

  /** Somebody who changes a link when QEMU is about to open it. */
  private record Swap(Path link, Path to) implements Progress {
    @Override
    public void before(LiveEffect effect) {
      if (effect instanceof LiveEffect.Attach) {
        Shell.run("ln", "-sfn", to, link);
      }
    }
  }

  private static void attach(GuestNode guest, Object device) throws IOException {
    var taken = guest.node().status(KEY).plan().disks().stream().map(PlannedDisk::device).toList();
    var disk = Manifests.readDisk("d.yaml", "{name: e, source: {pvc: x}}", taken, "default");
    guest.node().disks(KEY).attach(from(disk, device, true), Objects.NONE);
  }

  @Test
  void aDeviceThatIsExchangedWhileItIsAttachedIsTakenAwayBeforeTheGuestGoesOn() throws IOException {
    var third = device("third");
    var link = Files.createSymbolicLink(shared.resolve("link"), second.path());
    try (var guest = new GuestNode(work, config("loop*,shm/*/*"), new Swap(link, third.path()))) {
      guest.node().run(vm("{name: d, source: {pvc: x}}", first.path(), true));
      assertThatThrownBy(() -> attach(guest, "/dev/null"))
          .hasMessageContaining("is not on the list");
      assertThatThrownBy(() -> attach(guest, link))
          .hasMessage(link + " was exchanged for something else after it was checked");
      var status = guest.node().status(KEY);
      var qemu = new RunningQemu(LIBVIRT.uri(), status.plan().uuid());
      assertThat(qemu.state()).isEqualTo("running");
      assertThat(qemu.virsh("domblklist", qemu.uuid())).doesNotContain("sdb");
      assertThat(status.plan().disks()).hasSize(1);
      assertThat(guest.layout().change(guest.layout().vm(KEY))).doesNotExist();

      attach(guest, second.path());
      assertThat(qemu.virsh("domblklist", qemu.uuid())).contains(second.path().toString());
      assertThat(guest.node().status(KEY).plan().disks()).hasSize(2);
    } finally {
      third.close();
    }
    assertThat(domains()).isEmpty();
  }
}
