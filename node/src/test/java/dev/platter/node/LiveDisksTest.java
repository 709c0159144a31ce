package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.Console;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Disks of a VM that runs are grown, attached, detached, snapshotted and merged. */
class LiveDisksTest {
  private static final VmKey KEY = new VmKey("default", "live");
  private static final Duration SOON = Duration.ofSeconds(60);

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private GuestNode guest;
  private Consumer<Step> before = _ -> {};

  @BeforeEach
  void openNode() {
    var progress =
        new Progress() {
          @Override
          public void before(Step step) {
            before.accept(step);
          }
        };
    guest = new GuestNode(work, LIBVIRT.uri(), List.of(), Optional.empty(), progress);
  }

  @AfterEach
  void closeNode() throws IOException {
    guest.close();
  }

  private VmStatus run(String disks) throws IOException {
    return guest.run(
        "kind: VM\nmetadata: {name: live}\nspec: {domain: {memory: {guest: 128Mi}, devices: {disks: [%s]}}}\n"
            .formatted(disks));
  }

  private VmDisks disks() {
    return guest.node().disks(KEY);
  }

  private void attach(String disk) throws IOException {
    var taken = guest.node().status(KEY).plan().disks().stream().map(PlannedDisk::device).toList();
    guest
        .node()
        .disks(KEY)
        .attach(Manifests.readDisk("disk.yaml", disk, taken, "default"), Objects.NONE);
  }

  private RunningQemu qemu(VmStatus vm) {
    return new RunningQemu(LIBVIRT.uri(), vm.plan().uuid());
  }

  private Path file(String name, String format, String size) {
    var file = work.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", format, file, size);
    return file;
  }

  private static long virtualSize(Path file, String format) {
    var info = Shell.run("qemu-img", "info", "-U", "-f", format, "--output=json", file);
    return Long.parseLong(info.replaceAll("(?s).*\"virtual-size\": (\\d+).*", "$1"));
  }

  private String ask(VmStatus vm, Console console, String command) throws IOException {
    guest.type(vm, command + " | sed 's/.*/answer:&;/'");
    return console.await("answer:[^&;]*;", SOON).replaceAll(".*answer:|;$", "");
  }

  @Test
  void theGuestSeesEachChangeAndItsWritesSurviveThemAndAStop() throws IOException {
    var foreign = file("in-place.raw", "raw", "8M");
    var vm =
        run(
            "{name: root, source: {image: '%s'}, size: 64Mi, keep: true}"
                .formatted(guest.push("marker", MarkerGuest.qcow2())));
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);

    disks().grow("root", ByteSize.mebibytes(80));
    assertThat(ask(vm, console, "usleep 500000; cat /sys/block/$(basename $(disk root))/size"))
        .isEqualTo(Integer.toString(80 << 11));

    attach("{name: blank, source: {blank: {}}, size: 4Mi, keep: true}");
    attach("{name: in-place, source: {file: %s}}".formatted(foreign));
    assertThat(
            ask(
                vm,
                console,
                "usleep 500000; echo $(cat /sys/block/$(basename $(disk blank))/size)"))
        .isEqualTo(Integer.toString(4 << 11));
    guest.type(
        vm,
        "for d in root blank in-place; do echo one | dd of=$(disk $d) bs=512 seek=100 conv=fsync,notrunc 2>/dev/null; done; echo @@\"ONE\"");
    console.await("@@ONE", SOON);

    disks().snapshot("root", "first");
    disks().snapshot("root", "second");
    disks().snapshot("blank", "first");
    guest.type(
        vm,
        "for d in root blank; do echo two | dd of=$(disk $d) bs=512 seek=101 conv=fsync,notrunc 2>/dev/null; done; echo @@\"TWO\"");
    console.await("@@TWO", SOON);
    var below = guest.layout().disk("default", vm.plan().uuid(), "blank", "raw");
    assertThat(new String(Files.readAllBytes(below), 100 * 512, 4)).isEqualTo("one\n");
    assertThat(Files.readAllBytes(below)[101 * 512]).as("written since").isZero();

    disks().removeSnapshot("root", "second");
    disks().removeSnapshot("root", "first");
    assertThat(
            ask(
                vm,
                console,
                "echo $(dd if=$(disk root) iflag=direct bs=512 skip=100 count=2 2>/dev/null | tr -d '\\000')"))
        .isEqualTo("one two");

    disks().detach("in-place");
    assertThat(ask(vm, console, "usleep 500000; disk in-place 2>&1")).contains("no disk");
    assertThat(new String(Files.readAllBytes(foreign), 100 * 512, 4)).isEqualTo("one\n");

    guest.hangUp(vm);
    guest.node().stop(KEY, Duration.ofSeconds(60));
    guest.node().start(KEY);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(
            ask(
                vm,
                console,
                "echo $(for d in root blank; do dd if=$(disk $d) bs=512 skip=100 count=2 2>/dev/null | tr -d '\\000'; done) $(cat /sys/block/$(basename $(disk root))/size)"))
        .isEqualTo("one two one two " + (80 << 11));
    guest.hangUp(vm);
    guest.node().remove(KEY, true);
    try (var files = Files.list(guest.layout().pool("default"))) {
      assertThat(files).isEmpty();
    }
    assertThat(foreign).exists();
  }

  @Test
  void filesInPlaceAreGrownAndWhatIsMadeAgainIsMadeAsLarge() throws IOException {
    var raw = file("a.raw", "raw", "1M");
    var qcow2 = file("b.qcow2", "qcow2", "1M");
    var vm =
        run(
            "{name: raw, source: {file: %s}}, {name: qcow2, source: {file: %s}}, {name: blank, source: {blank: {}}, size: 1Mi}"
                .formatted(raw, qcow2));
    for (var disk : vm.plan().disks()) {
      disks().grow(disk.name(), ByteSize.mebibytes(3));
      assertThat(qemu(vm).size(disk.device())).isEqualTo(3 << 20);
    }
    assertThat(virtualSize(raw, "raw")).isEqualTo(3 << 20);
    assertThat(virtualSize(qcow2, "qcow2")).isEqualTo(3 << 20);
    disks().snapshot("blank", "s");
    disks().grow("blank", ByteSize.mebibytes(5));
    guest.node().stop(KEY, Duration.ZERO);
    guest.node().start(KEY);
    assertThat(disks().list().getLast().snapshots()).containsExactly("s");
    assertThat(qemu(vm).size("sdc")).isEqualTo(5 << 20);
    disks().removeSnapshot("blank", "s");
    assertThat(qemu(vm).size("sdc")).isEqualTo(5 << 20);
    guest.node().stop(KEY, Duration.ZERO);
    guest.node().start(KEY);
    assertThat(qemu(vm).size("sdc")).isEqualTo(5 << 20);
  }

  @Test
  void aDiskThatKeepsWhatItReadHasSnapshotsToo() throws IOException {
    var master = file("master.raw", "raw", "4M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 17 1M 64k", master);
    var vm = run("{name: root, source: {file: %s}, copy: {mode: copy-on-read}}".formatted(master));
    disks().snapshot("root", "s");
    qemu(vm).check(17, "1M");
    qemu(vm).write(34, "2M");
    disks().removeSnapshot("root", "s");
    var overlay = guest.layout().disk("default", vm.plan().uuid(), "root", "qcow2");
    assertThat(qemu(vm).chain("sda")).containsExactly(overlay.toString(), master.toString());
    qemu(vm).check(17, "1M");
    qemu(vm).check(34, "2M");
    assertThat(Shell.run("qemu-img", "map", "-U", "-f", "qcow2", "--output=json", overlay))
        .as("what was read is in the overlay")
        .contains("\"start\": 1048576, \"length\": 65536, \"depth\": 0");
  }

  @Test
  void whatCannotBeDoneIsRefusedAndChangesNothing() throws IOException {
    var raw = file("a.raw", "raw", "1M");
    var vm =
        run(
            "{name: root, source: {blank: {}}, size: 2Mi}, {name: file, source: {file: %s}}, {name: ro, source: {file: %s}, access-mode: read-shared}"
                .formatted(raw, file("c.raw", "raw", "1M")));
    disks().snapshot("root", "one");
    disks().snapshot("root", "two");
    var before = guest.node().status(KEY).plan();
    assertThatThrownBy(() -> disks().grow("root", ByteSize.mebibytes(1)))
        .hasMessageContaining("cannot be made smaller");
    assertThatThrownBy(() -> disks().grow("nobody", ByteSize.mebibytes(1)))
        .hasMessageContaining("has no disk nobody");
    assertThatThrownBy(() -> disks().grow("ro", ByteSize.mebibytes(2)))
        .hasMessageContaining("read-only");
    assertThatThrownBy(() -> disks().snapshot("file", "s")).hasMessageContaining("used in place");
    assertThatThrownBy(() -> disks().snapshot("root", "../x")).hasMessageContaining("cannot name");
    assertThatThrownBy(() -> disks().snapshot("root", "one")).hasMessageContaining("already");
    assertThatThrownBy(() -> disks().removeSnapshot("root", "one"))
        .hasMessageContaining("below the snapshot two");
    assertThatThrownBy(() -> disks().removeSnapshot("root", "three"))
        .hasMessageContaining("no snapshot three");
    assertThatThrownBy(() -> disks().detach("root")).hasMessageContaining("boots from");
    assertThatThrownBy(() -> attach("{name: file, source: {blank: {}}, size: 1Mi}"))
        .hasMessageContaining("has a disk file");
    assertThatThrownBy(() -> attach("{source: {file: %s}}".formatted(raw)))
        .hasMessageContaining("already");
    assertThatThrownBy(() -> attach("{source: {blank: {}}, size: 1Mi, target: {bus: virtio}}"))
        .hasMessageContaining("no free place");
    var foreign = guest.layout().disk("default", vm.plan().uuid(), "taken", "raw");
    Files.writeString(foreign, "foreign");
    assertThatThrownBy(() -> attach("{name: taken, source: {blank: {}}, size: 1Mi}"))
        .hasMessageContaining("no record of Platter names it");
    assertThat(Files.readString(foreign)).isEqualTo("foreign");
    Files.delete(foreign);
    assertThat(guest.node().status(KEY).plan()).isEqualTo(before);
    assertThat(qemu(vm).state()).isEqualTo("running");
    guest.node().stop(KEY, Duration.ZERO);
    assertThatThrownBy(() -> disks().snapshot("root", "three"))
        .hasMessageContaining("is not running");
  }

  /** After it was seen that there is none. */
  @Test
  void aFileThatSomebodyElseMakesAtTheLastMomentIsNotDeleted() throws IOException {
    var vm = run("{name: root, source: {blank: {}}, size: 2Mi}");
    var plan = vm.plan();
    var blank = guest.layout().disk("default", plan.uuid(), "more", "raw");
    var overlay = guest.layout().snapshot(blank, plan.uuid(), "root", "s");
    before =
        step -> {
          switch (step) {
            case Step.CreateBlank _ -> write(blank);
            case Step.CreateSnapshot _ -> write(overlay);
            default -> {}
          }
        };
    assertThatThrownBy(() -> attach("{name: more, source: {blank: {}}, size: 1Mi}"))
        .hasMessageContaining("no record of Platter names it");
    assertThatThrownBy(() -> disks().snapshot("root", "s"))
        .hasMessageContaining("no record of Platter names it");
    assertThat(blank).hasContent("foreign");
    assertThat(overlay).hasContent("foreign");
    assertThat(guest.layout().change(guest.layout().vm(KEY))).doesNotExist();
    assertThat(guest.node().status(KEY).plan()).isEqualTo(plan);
    assertThat(qemu(vm).state()).isEqualTo("running");
    guest.node().remove(KEY, true);
    assertThat(blank).hasContent("foreign");
    assertThat(overlay).hasContent("foreign");
  }

  private static void write(Path foreign) {
    try {
      Files.writeString(foreign, "foreign");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aDiskThatLibvirtRefusesIsTakenBack() throws IOException {
    var vm = run("{name: root, source: {blank: {}}, size: 2Mi}");
    var held = file("held.raw", "raw", "1M");
    // QEMU's own lock is what refuses it: another QEMU, which Platter knows nothing of, writes.
    var other = work.resolve("other.xml");
    Files.writeString(
        other,
        """
        <domain type='qemu'><name>other</name><memory unit='MiB'>16</memory><os><type>hvm</type></os>
        <devices><disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='%s'/>
        <target dev='sda' bus='scsi'/></disk></devices></domain>
        """
            .formatted(held));
    qemu(vm).virsh("create", other, "--paused");
    var before = guest.node().status(KEY).plan();
    assertThatThrownBy(() -> attach("{name: held, source: {file: %s}}".formatted(held)))
        .hasMessageContaining("libvirt cannot attach a disk")
        .hasMessageContaining("lock");
    assertThat(guest.node().status(KEY).plan()).isEqualTo(before);
    assertThat(guest.layout().change(guest.layout().vm(KEY))).doesNotExist();
    assertThat(qemu(vm).state()).isEqualTo("running");
    try (var leases = Files.list(guest.layout().leases())) {
      assertThat(leases).isEmpty();
    }
  }
}
