package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.GuestDisk;
import dev.platter.lab.MarkerGuest;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A manifest of KubeVirt, as its guest sees it. */
class KubeVirtGuestTest {
  private static final VmKey KEY = new VmKey("default", "kubevirt");

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

  @Test
  void aVirtualMachineOfKubeVirtBootsAndKeepsItsDataVolume() throws IOException {
    var image = guest.push("marker", MarkerGuest.qcow2());
    var vm =
        guest.run(
            """
            apiVersion: kubevirt.io/v1
            kind: VirtualMachine
            metadata: {name: kubevirt}
            spec:
              running: true
              dataVolumeTemplates:
              - metadata: {name: root-dv}
                spec:
                  source: {registry: {url: "docker://%1$s"}}
                  storage: {resources: {requests: {storage: 1Gi}}}
              template:
                spec:
                  domain:
                    memory: {guest: 128Mi}
                    firmware: {uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223}
                    devices:
                      disks:
                      - {name: scratch, serial: SCRATCH01, disk: {bus: virtio}}
                      - {name: root, bootOrder: 1, disk: {bus: virtio}}
                      - {name: cd, cdrom: {bus: sata}}
                      - {name: seed, disk: {bus: virtio}}
                      interfaces: [{name: default, masquerade: {}}]
                  networks: [{name: default, pod: {}}]
                  volumes:
                  - {name: root, dataVolume: {name: root-dv}}
                  - {name: scratch, emptyDisk: {capacity: 7Mi}}
                  - {name: cd, containerDisk: {image: "%1$s"}}
                  - {name: seed, cloudInitNoCloud: {userData: "#cloud-config\\n#marker: echo seen\\n"}}
            """
                .formatted(image));
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(console.lines())
        .anyMatch(line -> line.startsWith("@@DMI uuid=5d307ca9-b3ef-428c-8861-06e72d69f223"))
        .anyMatch(line -> line.contains("@@OUT seen"));
    assertThat(console.disks())
        .extracting(GuestDisk::serial)
        .containsExactlyInAnyOrder("root", "SCRATCH01", "cd", "cloud-init");
    assertThat(console.disk("root").size()).isEqualTo(1L << 30);
    assertThat(console.disk("SCRATCH01").size()).isEqualTo(7 << 20);
    assertThat(console.disk("cd").readOnly()).isTrue();
    guest.type(vm, "echo kept > /data/word; sync; echo @@\"WRITTEN\"");
    console.await("@@WRITTEN", Duration.ofSeconds(30));
    guest.hangUp(vm);
    guest.node().stop(KEY, Duration.ZERO);
    guest.node().start(KEY);
    console.await("^@@READY", GuestNode.BOOT);
    guest.type(vm, "echo @@\"WORD\" $(cat /data/word)");
    console.await("@@WORD kept", Duration.ofSeconds(30));
  }
}
