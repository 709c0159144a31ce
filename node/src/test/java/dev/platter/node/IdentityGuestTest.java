package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Pods that come and go, and the one disk that stays, as a guest sees it. */
class IdentityGuestTest {
  private static final IdentityKey PET = new IdentityKey("default", "pet");
  private static final String UUID = "1b4d298f-6151-40b0-a1d4-269fc41d48f0";
  private static final String READ =
      "dd if=$(disk root) bs=1M skip=512 count=1 2>/dev/null | head -c 9";
  private static final String WRITE =
      "echo persisted | dd of=$(disk root) bs=1M seek=512 conv=notrunc; sync";

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private GuestNode guest;

  @AfterEach
  void close() throws Exception {
    guest.close();
    TestDaemon.end(work);
  }

  private String image() throws IOException {
    var tagged = guest.push("marker", MarkerGuest.qcow2());
    var digest = Shell.run("skopeo", "inspect", "--format", "{{.Digest}}", tagged).strip();
    return tagged.substring(0, tagged.lastIndexOf(':')) + "@" + digest;
  }

  private static String pod(String name, String image, String set, String... commands) {
    var script = new StringBuilder();
    for (var command : commands) {
      script.append("      #marker: ").append(command).append('\n');
    }
    return """
        apiVersion: virtlet.k8s/v1
        kind: VirtletVMIdentitySet
        metadata: {name: pets}
        spec: {image: "%1$s", type: Local, size: 1Gi%2$s}
        ---
        apiVersion: v1
        kind: Pod
        metadata:
          name: %3$s
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
            VirtletVMIdentitySet: pets
            VirtletVMIdentityName: pet
            VirtletCloudInitUserDataScript: |
              #!/bin/sh
        %4$s
        spec:
          containers:
          - {name: vm, image: "%1$s", resources: {limits: {memory: 192Mi}}}
        """
        .formatted(image, set, name, script);
  }

  private List<String> lines(VmStatus vm) {
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    return console.lines();
  }

  @Test
  void whatAGuestWroteIsThereForTheNextPodOfTheSameIdentity() throws Exception {
    guest = new GuestNode(work, LIBVIRT.uri());
    var image = image();
    var identities = guest.node().identities();
    var shared = ", firmwareUUID: " + UUID;
    var first = guest.run(pod("one", image, shared, READ + " | grep persisted", WRITE));
    var lines = lines(first);
    assertThat(lines).anyMatch(line -> line.startsWith("@@DMI uuid=" + UUID));
    assertThat(lines).anyMatch(line -> line.matches("@@DISK sd. serial=root size=1073741824 .*"));
    assertThat(lines).noneMatch(line -> line.equals("@@OUT persisted"));
    var file = identities.find(PET).orElseThrow().file();
    assertThat(Shell.run("virsh", "-c", LIBVIRT.uri(), "domblklist", "default.one"))
        .containsPattern("sda +" + file);
    assertThatThrownBy(() -> identities.remove(PET))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("identity default/pet is in use by the VM default/one");
    guest.node().remove(first.key(), true);
    Shell.run("qemu-img", "check", "-q", file);
    var second = guest.run(pod("two", image, shared, READ));
    assertThat(lines(second))
        .contains("@@OUT persisted")
        .anyMatch(line -> line.startsWith("@@DMI uuid=" + UUID));
    guest.node().remove(second.key(), true);
    assertThat(identities.remove(PET)).isTrue();
    assertThat(file).doesNotExist();
    try (var left = Files.list(guest.layout().pool("volumes"))) {
      assertThat(left).isEmpty();
    }
  }

  @Test
  void aSecondPodOfAnIdentityIsRefusedWhileTheFirstRuns() throws Exception {
    guest = new GuestNode(work, LIBVIRT.uri());
    var image = image();
    guest.run(pod("one", image, ""));
    assertThatThrownBy(() -> guest.run(pod("two", image, "")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("identity:default/pet is in use by the VM default/one");
    assertThat(guest.node().list()).hasSize(1);
  }

  @Test
  void aSecondVmWithTheFirmwareUuidIsRefused() throws Exception {
    guest = new GuestNode(work, LIBVIRT.uri());
    var image = image();
    var shared = ", firmwareUUID: " + UUID;
    guest.run(pod("one", image, shared));
    var other =
        pod("two", image, shared).replace("VirtletVMIdentityName: pet", "VirtletVMIdentityName: b");
    assertThatThrownBy(() -> guest.run(other))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("the VM default/one has the UUID " + UUID);
    assertThat(guest.node().list()).hasSize(1);
  }

  /** The base is sealed while a guest runs on the overlay, and again no daemon is needed. */
  @Test
  void anIdentityIsMadeAndUsedBeforeItsImageIsHere() throws Exception {
    try (var registry = Registry.start()) {
      guest =
          new GuestNode(
              work, LIBVIRT.uri(), TestDaemon.command(work, LIBVIRT.uri(), Duration.ofSeconds(2)));
      var image = guest.pushPinned(registry, "marker", MarkerGuest.raw());
      var first = guest.run(pod("one", image, "", WRITE));
      assertThat(states()).containsExactly(ImageRecord.State.LAZY);
      lines(first);
      var end = System.nanoTime() + GuestNode.BOOT.toNanos();
      while (!states().equals(List.of(ImageRecord.State.SEALED))) {
        assertThat(System.nanoTime()).as("sealed").isLessThan(end);
        Thread.sleep(50);
      }
      guest.type(
          first, "head -c 33554432 $(disk root) | sha256sum >/dev/null && echo read-$((40 + 2))");
      guest.console(first).await("read-42", GuestNode.BOOT);
      guest.node().remove(first.key(), true);
      registry.goAway();
      for (var daemon : TestDaemon.running(work)) {
        daemon.destroyForcibly();
      }
      assertThat(lines(guest.run(pod("two", image, "", READ)))).contains("@@OUT persisted");
    }
  }

  private List<ImageRecord.State> states() throws IOException {
    return guest.node().images().list().stream().map(status -> status.image().state()).toList();
  }
}
