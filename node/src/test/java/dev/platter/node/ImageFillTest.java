package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.ClaimSource;
import dev.platter.model.DeviceSource;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class ImageFillTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;

  private static Vm vm(String image, String disks, Path device) {
    var vm =
        Manifests.objects(
                "t.yaml",
                "kind: VM\nmetadata: {name: vm}\nspec: {domain: {devices: {disks: [{source: {image: '%s'}}%s]}}}\n"
                    .formatted(image, disks))
            .vms()
            .getFirst();
    return vm.withDisks(
        vm.disks().stream()
            .map(
                disk ->
                    disk.source() instanceof ClaimSource
                        ? disk.withSource(new DeviceSource(device.toString(), false))
                        : disk)
            .toList());
  }

  @Test
  void aDeviceHoldsTheImageWhateverWasOnItBefore() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var file = work.resolve("device");
    var size = Files.size(MarkerGuest.raw());
    Shell.run("sh", "-c", "yes | head -c %d > %s".formatted(size + (1 << 20), file));
    try (var guest = new GuestNode(work, LIBVIRT.uri());
        var device = LoopDevice.attach(file)) {
      var image = guest.push("marker", MarkerGuest.qcow2());
      var vm = vm(image, ", {source: {pvc: x}}", device.path());
      var done = new AtomicLong();
      var fill = guest.node().fill(vm, Objects.NONE);
      assertThat(fill.size()).isEqualTo(size);
      fill.write(done::set);
      Shell.run("cmp", "-n", size, MarkerGuest.raw(), device.path());
      assertThat(done).hasValue(size);
      assertThat(guest.node().list()).as("there is no VM").isEmpty();
    }
    try (var read = Files.newInputStream(file)) {
      read.skipNBytes(size);
      assertThat(read.readNBytes(2)).as("what is behind the image").isEqualTo("y\n".getBytes());
    }
  }

  @Test
  void aDeviceThatIsTooSmallIsRefusedAndLeftAlone() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var file = work.resolve("device");
    Shell.run("sh", "-c", "yes | head -c 1048576 > " + file);
    var before = Files.readAllBytes(file);
    try (var guest = new GuestNode(work, LIBVIRT.uri());
        var device = LoopDevice.attach(file)) {
      var image = guest.push("marker", MarkerGuest.qcow2());
      var fill = guest.node().fill(vm(image, ", {source: {pvc: x}}", device.path()), Objects.NONE);
      assertThatThrownBy(() -> fill.write(_ -> {}))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("the image has 64Mi, which does not fit");
      assertThat(file).hasBinaryContent(before);
      assertThatThrownBy(() -> guest.node().fill(vm(image, "", file), Objects.NONE).write(_ -> {}))
          .hasMessageContaining("has 0 block devices");
    }
  }
}
