package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.GuestDisk;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the guest itself sees and does, told on its console. */
class MarkerGuestTest {
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

  private Path data(String name, int pattern, String size) {
    var file = work.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "raw", file, size);
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P " + pattern + " 0 " + size, file);
    return file;
  }

  private static String sha256OfFirstMebibyte(Path raw) {
    return Shell.run("sh", "-c", "head -c 1048576 " + raw + " | sha256sum | cut -c1-64").strip();
  }

  @ParameterizedTest
  @ValueSource(strings = {"scsi", "virtio"})
  void theGuestSeesEachDiskWithItsSerialSizeAndContent(String bus) throws IOException {
    var inPlace = data("in-place.raw", 1, "2M");
    var cow = data("cow.raw", 2, "3M");
    var cloned = data("clone.raw", 3, "4M");
    var shared = data("shared.raw", 4, "5M");
    var qcow2 = work.resolve("qcow2.qcow2");
    Shell.run("qemu-img", "convert", "-O", "qcow2", data("qcow2.raw", 5, "6M"), qcow2);
    var vm =
        guest.run(
            """
            kind: VM
            metadata: {name: disks}
            spec:
              cloudInit: {type: %8$s, userData: "#cloud-config\\n#marker: echo seen\\n"}
              domain:
                memory: {guest: 128Mi}
                firmware: {uuid: 1b4d298f-6151-40b0-a1d4-269fc41d48f0}
                devices:
                  disks:
                  - {name: root, source: {image: "%1$s"}, size: 1Gi, target: {bus: %2$s}}
                  - {name: in-place, source: {file: %3$s}, target: {bus: %2$s}}
                  - {name: cow, source: {file: %4$s}, copy: {mode: copy-on-write}, size: 30Mi, target: {bus: %2$s}}
                  - {name: cloned, source: {file: %5$s}, copy: {mode: clone}, size: 40Mi, target: {bus: %2$s}}
                  - {name: shared, source: {file: %6$s}, access-mode: read-shared, target: {bus: %2$s}}
                  - {name: qcow2, source: {file: %7$s}, target: {bus: %2$s}}
                  - {name: blank, source: {blank: {}}, size: 7Mi, target: {bus: %2$s}}
            """
                .formatted(
                    guest.push("marker", MarkerGuest.qcow2()),
                    bus,
                    inPlace,
                    cow,
                    cloned,
                    shared,
                    qcow2,
                    bus.equals("scsi") ? "nocloud" : "configdrive"));
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(console.lines())
        .anyMatch(line -> line.startsWith("@@DMI uuid=1b4d298f-6151-40b0-a1d4-269fc41d48f0"));
    assertThat(console.lines()).anyMatch(line -> line.contains("@@OUT seen"));
    var label = bus.equals("scsi") ? "cidata" : "config-2";
    assertThat(console.lines()).anyMatch(line -> line.matches("@@CIDATA dev=.* label=" + label));
    assertDisk(console.disk("root"), 1 << 30, false, MarkerGuest.raw());
    assertDisk(console.disk("in-place"), 2 << 20, false, inPlace);
    assertDisk(console.disk("cow"), 30 << 20, false, cow);
    assertDisk(console.disk("cloned"), 40 << 20, false, cloned);
    assertDisk(console.disk("shared"), 5 << 20, true, shared);
    assertDisk(console.disk("qcow2"), 6 << 20, false, work.resolve("qcow2.raw"));
    assertThat(console.disk("blank").size()).isEqualTo(7 << 20);
    if (bus.equals("virtio")) {
      assertThat(console.disks())
          .extracting(GuestDisk::serial)
          .containsExactly(
              "root", "in-place", "cow", "cloned", "shared", "qcow2", "blank", "cloud-init");
    }
    guest.type(
        vm,
        "for d in in-place cow cloned qcow2 blank; do echo written | dd of=$(disk $d) conv=fsync 2>/dev/null; done; echo @@\"WRITTEN\"");
    console.await("@@WRITTEN", Duration.ofSeconds(30));
    guest.node().stop(new VmKey("default", "disks"), Duration.ZERO);
    assertThat(Files.readString(inPlace, java.nio.charset.StandardCharsets.ISO_8859_1))
        .startsWith("written\n");
    Shell.run("sh", "-c", "qemu-io -f qcow2 -c 'read -v 0 512' " + qcow2 + " | grep -q written");
    for (var master : java.util.List.of(cow, cloned, shared)) {
      assertThat(Files.readAllBytes(master)[0])
          .as("the guest's writes stay out of " + master)
          .isLessThan((byte) 5);
    }
  }

  private static void assertDisk(GuestDisk disk, long size, boolean readOnly, Path sameStart) {
    assertThat(disk.size()).as("size of " + disk.serial()).isEqualTo(size);
    assertThat(disk.readOnly()).as("read-only " + disk.serial()).isEqualTo(readOnly);
    assertThat(disk.sha1M())
        .as("content of " + disk.serial())
        .isEqualTo(sha256OfFirstMebibyte(sameStart));
  }

  @Test
  void whatIsWrittenToAKeptDiskIsThereAfterAStopAndWhatIsWrittenToOthersIsGone()
      throws IOException {
    var reference = guest.push("marker", MarkerGuest.raw());
    var vm =
        guest.run(
            """
            kind: VM
            metadata: {name: keeper}
            spec:
              domain:
                memory: {guest: 128Mi}
                devices:
                  disks:
                  - {name: root, source: {image: "%1$s"}, keep: true}
                  - {name: scratch, source: {image: "%1$s"}}
            """
                .formatted(reference));
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    guest.type(
        vm,
        "for d in root scratch; do echo kept | dd of=$(disk $d) seek=60 bs=1M conv=notrunc,fsync 2>/dev/null; done; echo @@\"WRITTEN\"");
    console.await("@@WRITTEN", Duration.ofSeconds(30));
    guest.hangUp(vm);
    // The guest shuts down by itself when asked by ACPI; nothing is forced within that time.
    guest.node().stop(new VmKey("default", "keeper"), Duration.ofSeconds(60));
    assertThat(guest.node().status(new VmKey("default", "keeper")).phase())
        .isEqualTo(VmStatus.Phase.STOPPED);
    guest.node().start(new VmKey("default", "keeper"));
    console.await("^@@READY", GuestNode.BOOT);
    guest.type(
        vm,
        "for d in root scratch; do echo \"@@READ $d $(dd if=$(disk $d) skip=60 bs=1M count=1 2>/dev/null | head -c 4)\"; done; echo @@\"END\"");
    console.await("@@END", Duration.ofSeconds(30));
    assertThat(console.lines()).anyMatch(line -> line.contains("@@READ root kept"));
    assertThat(console.lines()).noneMatch(line -> line.contains("@@READ scratch kept"));
  }

  @Test
  void aPublishedPortReachesTheGuestAndAGuestThatPowersOffIsTakenDown() throws Exception {
    int port;
    try (var probe = new java.net.ServerSocket(0)) {
      port = probe.getLocalPort();
    }
    var vm =
        guest.run(
            """
            kind: VM
            metadata: {name: web}
            spec:
              network: {publish: ["%d:80"]}
              cloudInit:
                userData: "#cloud-config\\n#marker: mkdir /www && echo served by the guest > /www/index.html && httpd -p 80 -h /www\\n"
              domain:
                memory: {guest: 128Mi}
                devices:
                  disks:
                  - {name: root, source: {image: "%s"}}
            """
                .formatted(port, guest.push("marker", MarkerGuest.qcow2())));
    guest.console(vm).await("^@@READY", GuestNode.BOOT);
    assertThat(get(port)).isEqualTo("served by the guest\n");
    guest.type(vm, "poweroff");
    var end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (guest.node().status(new VmKey("default", "web")).phase() != VmStatus.Phase.STOPPED
        && System.nanoTime() < end) {
      Thread.sleep(100);
    }
    guest.node().tidy();
    assertThat(guest.node().status(new VmKey("default", "web")).phase())
        .isEqualTo(VmStatus.Phase.STOPPED);
    assertThat(guest.layout().runVm(vm.plan().uuid())).doesNotExist();
    try (var files = Files.list(guest.layout().pool("default"))) {
      assertThat(files).as("ephemeral disks of a VM that ended").isEmpty();
    }
  }

  /** The guest's DHCP client may need a moment after the guest is ready. */
  private static String get(int port) throws Exception {
    var request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/"))
            .timeout(Duration.ofSeconds(5))
            .build();
    IOException last = null;
    try (var client = HttpClient.newHttpClient()) {
      for (var i = 0; i < 30; i++) {
        try {
          return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        } catch (IOException e) {
          last = e;
          Thread.sleep(1000);
        }
      }
    }
    throw new AssertionError("no answer from the guest", last);
  }

  @Test
  void asManyDisksAsTheBusHoldsReachTheGuest() throws IOException {
    var disks = new StringBuilder();
    for (var i = 1; i < 26; i++) {
      disks.append("      - {name: d%d, source: {blank: {}}, size: %dMi}%n".formatted(i, i));
    }
    var vm =
        guest.run(
            """
            kind: VM
            metadata: {name: many}
            spec:
              domain:
                memory: {guest: 128Mi}
                devices:
                  disks:
                  - {name: root, source: {image: "%s"}}
            """
                    .formatted(guest.push("marker", MarkerGuest.qcow2()))
                + disks);
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(console.disks()).hasSize(26);
    for (var i = 1; i < 26; i++) {
      assertThat(console.disk("d" + i).size()).isEqualTo((long) i << 20);
    }
  }

  @Test
  void aSecondWriterIsRefusedAndNothingIsLeftOfIt() throws IOException {
    var file = data("exclusive.raw", 1, "1M");
    var yaml =
        "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [{source: {file: "
            + file
            + "}}]}}}\n";
    guest.run(yaml.formatted("first"));
    assertThatThrownBy(() -> guest.run(yaml.formatted("second")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("in use by the VM default/first");
    assertThat(guest.node().list()).extracting(vm -> vm.key().name()).containsExactly("first");
  }

  @Test
  void theDigestOfATagIsKeptForTheLifeOfTheVm() throws IOException {
    var reference = guest.push("moving", data("one.raw", 1, "1M"));
    var yaml =
        "kind: VM\nmetadata: {name: pinned}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [{name: d, source: {image: '"
            + reference
            + "'}}]}}}\n";
    var first = guest.run(yaml);
    guest.node().stop(new VmKey("default", "pinned"), Duration.ZERO);
    guest.push("moving", data("two.raw", 2, "1M"));
    var second = guest.run(yaml);
    assertThat(second.plan()).isEqualTo(first.plan());
    var overlay = guest.layout().disk("default", first.plan().uuid(), "d", "qcow2");
    Shell.run(
        "qemu-img", "compare", "-U", "-f", "raw", "-F", "qcow2", work.resolve("one.raw"), overlay);
    assertThat(guest.node().collect()).as("an image that a VM uses is not collected").isEmpty();
  }
}
