package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A change of a VM's disks was begun, and its QEMU will never answer again, as when its storage is
 * gone for ever. Nobody can say any more whether QEMU has changed, but the VM can be ended.
 */
class StuckChangeTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private Sweep sweep;

  @BeforeEach
  void runVm() throws IOException {
    var disks = "disks: [{name: root, source: {blank: {}}, size: 1Mi, keep: true}]";
    sweep =
        new Sweep(
            work,
            LIBVIRT,
            "kind: VM\nmetadata: {name: sweep}\nspec: {domain: {memory: {guest: 32Mi}, devices: {%s}}}\n"
                .formatted(disks));
    try (var node = sweep.node()) {
      sweep.run(node);
    }
  }

  private void stickAt(String moment) throws Exception {
    assertThat(sweep.kill("snapshot", moment)).isTrue();
    assertThat(sweep.layout().change(sweep.layout().vm(Sweep.KEY))).exists();
    sweep.qemu().freeze();
  }

  @Test
  void aForcedRemovalLeavesNothing() throws Exception {
    stickAt("after:CreateSnapshot");
    assertThat(sweep.disks()).hasSize(2);
    try (var node = sweep.node()) {
      node.remove(Sweep.KEY, true);
      assertThat(node.list()).isEmpty();
    }
    assertThat(sweep.disks()).isEmpty();
    assertThat(Sweep.names(sweep.layout().vms())).isEmpty();
    assertThat(sweep.virsh("list", "--all", "--uuid")).isBlank();
  }

  @Test
  void aStopEndsTheGuestAndTheNextStartHasTheChange() throws Exception {
    stickAt("decided");
    try (var node = sweep.node()) {
      node.stop(Sweep.KEY, Duration.ofMinutes(1));
      assertThat(node.status(Sweep.KEY).phase()).isEqualTo(VmStatus.Phase.STOPPED);
      assertThat(sweep.virsh("list", "--all", "--uuid")).isBlank();
      node.start(Sweep.KEY);
      assertThat(sweep.qemu().chain("sda")).hasSize(2);
      assertThat(node.disks(Sweep.KEY).list().getFirst().snapshots()).hasSize(1);
      assertThat(sweep.layout().change(sweep.layout().vm(Sweep.KEY))).doesNotExist();
      node.remove(Sweep.KEY, true);
    }
  }
}
