package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Console;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Guests that write more than there is room for: they wait, and lose nothing. */
class FullDiskTest {
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  /** One for each test: it sees mounts that were there before it. */
  @RegisterExtension final PrivateLibvirtExtension libvirt = new PrivateLibvirtExtension();

  @TempDir Path work;
  private Path small;
  private GuestNode guest;

  @BeforeEach
  void openNode() throws Exception {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    small = Files.createDirectory(work.resolve("small"));
    Shell.run(
        "sh",
        "-euc",
        """
        truncate -s 64M "$0/ext4"; mkfs.ext4 -q -m 0 "$0/ext4"; mount -o loop "$0/ext4" "$0/small"
        mkdir "$0/small/pool"; fallocate -l 44M "$0/small/ballast"
        """,
        work);
    var config = work.resolve("node.yaml");
    Files.writeString(
        config,
        "annotations: {kubevirt.io/storage.usage-type.small: '%s'}%n"
            .formatted(small.resolve("pool")));
    guest =
        new GuestNode(
            work,
            libvirt.uri(),
            TestDaemon.command(work, libvirt.uri(), Duration.ofMinutes(5)),
            Optional.of(config),
            Progress.NONE);
  }

  @AfterEach
  void closeNode() throws Exception {
    if (guest != null) {
      guest.close();
      TestDaemon.end(work);
    }
    if (small != null) {
      Shell.run("umount", small);
    }
  }

  @Test
  void aGuestWaitsWhileThePoolOfItsDiskIsFull() throws Exception {
    var vm = run("{name: data, source: {blank: {}}, size: 200Mi, copy: {usage-type: small}}", "");
    var console = fill(vm);
    assertThat(virsh("domblkerror", "default.full")).contains("sdb: no space");
    var status = guest.node().status(vm.key());
    assertThat(status.phase()).isEqualTo(VmStatus.Phase.PAUSED);
    var why = guest.node().stall(status).orElseThrow().why(status.plan());
    assertThat(why)
        .isEqualTo(
            "the disk data has no room: the pool small (%s) is full"
                .formatted(small.resolve("pool")));
    goesOn(console);
  }

  @Test
  void aGuestWithoutRoomCanBeStopped() throws Exception {
    var vm = run("{name: data, source: {blank: {}}, size: 200Mi, copy: {usage-type: small}}", "");
    fill(vm);
    guest.node().stop(vm.key(), Duration.ofSeconds(12));
    assertThat(guest.node().status(vm.key()).phase()).isEqualTo(VmStatus.Phase.STOPPED);
    assertThat(virsh("list", "--name")).isBlank();
  }

  @Test
  void aGuestWhoseOverlayHasNoRoomGoesOnWithTheNextDaemon() throws Exception {
    var master = work.resolve("master.raw");
    Shell.run("truncate", "-s", "200M", master);
    var vm =
        run(
            "{name: data, source: {file: %s}, copy: {mode: copy-on-write, usage-type: small}}"
                .formatted(master),
            "");
    var console = fill(vm);
    await(() -> !TestDaemon.running(work).isEmpty());
    for (var daemon : TestDaemon.running(work)) {
      daemon.destroyForcibly();
      daemon.onExit().get();
    }
    goesOn(console);
  }

  @Test
  void aBlockDeviceThatHasNoRoomLosesNothing() throws Exception {
    var file = small.resolve("thin");
    Shell.run("truncate", "-s", "200M", file);
    try (var device = LoopDevice.attach(file)) {
      // Without, the kernel (6.18) says of a write for which there was room in part that it was
      // done.
      Shell.run("losetup", "--direct-io=on", device.path());
      var vm =
          run(
              "{name: data, source: {pvc: thin}}",
              """
              ---
              kind: PersistentVolumeClaim
              metadata: {name: thin}
              spec: {volumeName: thin, volumeMode: Block, resources: {requests: {storage: 200Mi}}}
              ---
              kind: PersistentVolume
              metadata: {name: thin}
              spec: {volumeMode: Block, local: {path: %s}}
              """
                  .formatted(device.path()));
      goesOn(fill(vm));
      guest.node().remove(vm.key(), true);
    }
  }

  private VmStatus run(String disk, String objects) throws Exception {
    return guest.run(
        """
        kind: VM
        metadata: {name: full}
        spec:
          domain:
            memory: {guest: 128Mi}
            devices:
              disks:
              - {name: root, source: {image: "%s"}}
              - %s
        %s"""
            .formatted(guest.push("marker", MarkerGuest.qcow2()), disk, objects));
  }

  /** Until the guest stands still. It remembers in memory what it writes. */
  private Console fill(VmStatus vm) throws Exception {
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    for (var line :
        List.of(
            "d=$(disk data); head -c 25165824 /dev/urandom >/tmp/p",
            "dd if=/tmp/p of=$d bs=64k conv=fsync 2>/dev/null && echo @@\"WRITTEN\" || echo @@\"FAILED\"",
            "echo 3 >/proc/sys/vm/drop_caches",
            "head -c 25165824 $d | cmp - /tmp/p && echo @@\"SAME\" || echo @@\"FAILED\"",
            "dmesg | grep -i error; echo @@\"LOOKED\"")) {
      guest.type(vm, line);
    }
    await(() -> virsh("domstate", "--reason", "default.full").contains("paused (I/O error)"));
    return console;
  }

  private void goesOn(Console console) throws Exception {
    assertThat(console.lines()).noneMatch(line -> line.contains("@@WRITTEN"));
    Files.delete(small.resolve("ballast"));
    console.await("@@WRITTEN", PATIENCE);
    console.await("@@SAME", PATIENCE);
    console.await("@@LOOKED", PATIENCE);
    assertThat(console.lines())
        .noneMatch(line -> line.contains("@@FAILED") || line.contains("I/O error"));
  }

  private String virsh(String... arguments) {
    var line = Stream.concat(Stream.of("virsh", "-c", libvirt.uri()), Stream.of(arguments));
    return Shell.run(line.toArray());
  }

  private static void await(BooleanSupplier what) throws InterruptedException {
    for (var tries = 0; !what.getAsBoolean(); tries++) {
      assertThat(tries).isLessThan(1800);
      Thread.sleep(100);
    }
  }
}
