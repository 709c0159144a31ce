package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.LoopMount;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Claims on volumes of this machine, with real QEMU. */
class ClaimGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private GuestNode guest;

  @BeforeEach
  void openNode() {
    guest = new GuestNode(work, LIBVIRT.uri());
  }

  @AfterEach
  void closeNode() throws IOException {
    guest.close();
  }

  private static String vm(String name, String... disks) {
    return "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 128Mi}, devices: {disks: [%s]}}}\n"
        .formatted(name, String.join(", ", disks));
  }

  private static String claim(String name, String mode, Path path) {
    return """
        ---
        kind: PersistentVolumeClaim
        metadata: {name: %1$s}
        spec: {volumeName: %1$s, volumeMode: %2$s, resources: {requests: {storage: 64Mi}}}
        ---
        kind: PersistentVolume
        metadata: {name: %1$s}
        spec: {volumeMode: %2$s, local: {path: %3$s}}
        """
        .formatted(name, mode, path);
  }

  private Path volume() throws IOException {
    return Files.createDirectories(work.resolve("volume"));
  }

  private static String start(Path file) {
    return Shell.run("sh", "-c", "head -c 7 " + file);
  }

  @Test
  void whatTheGuestWritesIsInTheVolumeAndOutlivesTheVm() throws IOException {
    var volume = volume();
    var console =
        runAndWrite(
            vm("writer", "{name: root, source: {image: '%s'}}", "{name: fs, source: {pvc: fs}}")
                    .formatted(guest.push("marker", MarkerGuest.qcow2()))
                + claim("fs", "Filesystem", volume),
            "fs");
    assertThat(console.disk("fs").size()).isEqualTo(60 << 20);
    var key = guest.node().list().getFirst().key();
    assertThatThrownBy(
            () -> guest.run(vm("other", "{source: {file: %s/disk.img}}".formatted(volume))))
        .hasMessageContaining("in use by the VM default/writer");
    guest.node().stop(key, Duration.ZERO);
    assertThat(start(volume.resolve("disk.img"))).isEqualTo("written");
    guest.node().start(key);
    guest.node().remove(key, true);
    assertThat(Files.list(volume)).containsExactly(volume.resolve("disk.img"));
    assertThat(start(volume.resolve("disk.img"))).isEqualTo("written");
  }

  @Test
  void aBlockVolumeIsTheDeviceByWhateverName() throws Exception {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var file = work.resolve("device.raw");
    Shell.run("truncate", "-s", "8M", file);
    try (var device = LoopDevice.attach(file)) {
      var link = Files.createSymbolicLink(work.resolve("by-id"), device.path());
      var console =
          runAndWrite(
              vm("writer", "{name: root, source: {image: '%s'}}", "{name: dev, source: {pvc: dev}}")
                      .formatted(guest.push("marker", MarkerGuest.qcow2()))
                  + claim("dev", "Block", link),
              "dev");
      assertThat(console.disk("dev").size()).isEqualTo(8 << 20);
      assertThatThrownBy(
              () ->
                  guest.run(
                      vm("other", "{source: {pvc: dev}}") + claim("dev", "Block", device.path())))
          .hasMessageContaining("in use by the VM default/writer");
      for (var vm : guest.node().list()) {
        guest.node().remove(vm.key(), true);
      }
      var clone =
          guest.run(
              vm("copy", "{name: c, source: {pvc: dev}, copy: {mode: clone}}")
                  + claim("dev", "Block", link));
      var copy = guest.layout().disk("default", clone.plan().uuid(), "c", "raw");
      Shell.run("cmp", copy, file);
      assertThat(start(file)).isEqualTo("written");
    }
  }

  private dev.platter.lab.Console runAndWrite(String yaml, String disk) throws IOException {
    var vm = guest.run(yaml);
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    guest.type(
        vm,
        "echo written | dd of=$(disk %s) conv=fsync 2>/dev/null; echo @@\"WRITTEN\""
            .formatted(disk));
    console.await("@@WRITTEN", Duration.ofSeconds(30));
    return console;
  }

  @Test
  void aDeviceThatIsMountedOrNoDeviceIsRefused() throws Exception {
    assertThatThrownBy(
            () -> guest.run(vm("a", "{source: {pvc: d}}") + claim("d", "Block", volume())))
        .hasMessageContaining("is a directory and not a block device");
    assertThatThrownBy(
            () ->
                guest.run(
                    vm("a", "{source: {pvc: d}}") + claim("d", "Block", work.resolve("missing"))))
        .hasMessageContaining("there is no");
    assumeTrue(LoopMount.Type.EXT4.isPossible(), "no ext4 on loop devices here");
    try (var mount = LoopMount.make(work, LoopMount.Type.EXT4, 16 << 20)) {
      var device = Path.of(Shell.run("findmnt", "-no", "SOURCE", mount.path()).strip());
      assertThatThrownBy(
              () -> guest.run(vm("a", "{source: {pvc: d}}") + claim("d", "Block", device)))
          .hasMessageContaining("in use by this machine itself");
    }
    assertThat(guest.node().list()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "mv ../decoy disk.img|{source: {pvc: c}}",
        "ln -sf ../decoy disk.img|{source: {pvc: c}}",
        "ln -sf ../decoy disk.img|{source: {pvc: c}, access-mode: read-shared}",
        "ln -sf ../decoy disk.img|{source: {pvc: c}, copy: {mode: copy-on-write}}",
      })
  void aDiskThatIsExchangedDuringTheStartIsNeverRun(String swap, String disk) throws IOException {
    var volume = volume();
    Shell.run("truncate", "-s", "60M", volume.resolve("disk.img"));
    Shell.run("truncate", "-s", "60M", work.resolve("decoy"));
    var config = guest.config();
    var objects = Manifests.objects("t.yaml", vm("a", disk) + claim("c", "Filesystem", volume));
    try (var node =
        LocalNode.open(
            config,
            new SwappingMachine(
                new LocalMachine(config.layout(), config.connect()),
                () -> Shell.run("sh", "-ec", "cd " + volume + "; " + swap)),
            Progress.NONE)) {
      var refused =
          catchThrowableOfType(
              PlatterException.class, () -> node.run(objects.vms().getFirst(), objects));
      assertThat(refused)
          .hasMessage(
              volume.resolve("disk.img")
                  + " was exchanged for something else after it was checked");
      assertThat(refused.code()).isEqualTo(Code.REFUSED);
      assertThat(node.list()).isEmpty();
    }
    assertThat(Shell.run("virsh", "-c", LIBVIRT.uri(), "list", "--all", "--name")).isBlank();
  }
}
