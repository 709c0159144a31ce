package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.dialect.Manifests;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.model.DeviceSource;
import dev.platter.model.Vm;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.node.volumes.TestDriver;
import dev.platter.plan.VmKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A VM whose disk is a volume that begins as an image: it boots from it before the image has come,
 * with real QEMU, a registry, the daemon that has the image and the driver that has the volume.
 */
class DrawnVolumeGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  private static final VmKey KEY = new VmKey("default", "drawn");
  private static final Duration LIMIT = Duration.ofMinutes(3);

  @TempDir Path work;
  private Registry registry;
  private GuestNode guest;
  private TestDriver driver;

  @BeforeEach
  void open() {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    registry = Registry.start();
  }

  @AfterEach
  void close() throws Exception {
    if (registry == null) {
      return;
    }
    if (guest != null) {
      guest.close();
    }
    if (driver != null) {
      driver.close();
      TestDriver.remove(work);
    }
    registry.close();
    TestDaemon.end(work);
  }

  private void node(Duration quiet) {
    var config =
        new NodeConfig(
                GuestNode.layout(work),
                Optional.of(LIBVIRT.uri()),
                Optional.empty(),
                TestDaemon.command(work, LIBVIRT.uri(), quiet),
                Optional.empty())
            .withDrawn(TestDriver.files(work));
    guest = new GuestNode(work, config, Progress.NONE);
  }

  private static Vm vm(Path device, String copy) {
    var vm =
        Manifests.objects(
                "t.yaml",
                """
                kind: VM
                metadata: {name: drawn}
                spec:
                  domain:
                    memory: {guest: 128Mi}
                    devices:
                      disks:
                      - {name: root, source: {pvc: x}, target: {bus: virtio}%s}
                """
                    .formatted(copy))
            .vms()
            .getFirst();
    return vm.withDisks(
        vm.disks().stream()
            .map(disk -> disk.withSource(new DeviceSource(device.toString(), true)))
            .toList());
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(String what, Condition condition) throws Exception {
    var end = System.nanoTime() + LIMIT.toNanos();
    while (!condition.holds()) {
      assertThat(System.nanoTime()).as(what).isLessThan(end);
      Thread.sleep(50);
    }
  }

  private List<ImageRecord.State> states() throws Exception {
    return guest.node().images().list().stream().map(status -> status.image().state()).toList();
  }

  @Test
  void aVmBootsFromAVolumeBeforeItsImageHasComeAndLosesNothingWhenAllAreKilled() throws Exception {
    node(Duration.ofMinutes(10)); // The daemon fetches only what it is asked for.
    var reference = guest.pushSeekable(registry, "marker", MarkerGuest.raw());
    var digest = guest.node().images().resolve(reference);
    guest.node().images().ensure(reference, digest, Progress.NONE);
    var size = Files.size(guest.layout().base(digest));
    driver = start(digest, size, Duration.ofMinutes(10));
    assertThatThrownBy(
            () -> guest.node().run(vm(driver.device(), ", copy: {mode: clone}, size: 128Mi")))
        .as("what has to have all of it")
        .hasMessageContaining("still being fetched");

    var vm = guest.node().run(vm(driver.device(), ""));
    var console = guest.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(states()).containsExactly(ImageRecord.State.LAZY);
    assertThat(TestDriver.isComplete(work)).isFalse();

    driver.kill();
    TestDaemon.running(work).forEach(ProcessHandle::destroyForcibly);
    guest.type(
        vm,
        "umount /data; d=$(disk root); dd if=$d of=$d bs=512 skip=90001 seek=90001 count=3 conv=notrunc;"
            + " echo precious | dd of=$d bs=1 seek=73400333 conv=notrunc; sync;"
            + " echo 3 > /proc/sys/vm/drop_caches; head -c 67108864 $d | sha256sum | sed s/^/sum:/;"
            + " echo errors:$(dmesg | grep -i -c 'i/o error')");
    Thread.sleep(1000);
    assertThat(console.lines()).noneMatch(line -> line.startsWith("sum:"));
    driver = start(digest, size, Duration.ofSeconds(1));
    assertThat(console.await("^sum:[0-9a-f]{64}", LIMIT)).contains(sha256(MarkerGuest.raw()));
    assertThat(console.await("^errors:", LIMIT)).contains("errors:0");

    await("all of it is there", () -> TestDriver.isComplete(work));
    driver.kill();
    driver = start(digest, size, Duration.ofSeconds(1));
    guest.type(vm, "tail -c +73400334 $(disk root) | head -c 8 | sed s/^/kept:/");
    console.await("kept:precious", LIMIT);
    guest.node().remove(KEY, true);
    guest.hangUp(vm);

    driver.close();
    TestDaemon.end(work);
    registry.goAway();
    var device = TestDriver.restaged(work);
    assertThat(TestDriver.files(work).digests()).as("images that are needed").isEmpty();
    Shell.run("cmp", "-n", 64 << 20, TestDriver.bytes(work), MarkerGuest.raw());
    var again = guest.node().run(vm(device, ""));
    var second = guest.console(again);
    second.await("^@@READY", GuestNode.BOOT);
    guest.type(again, "tail -c +73400334 $(disk root) | head -c 8 | sed s/^/kept:/");
    second.await("kept:precious", LIMIT);
  }

  private static String sha256(Path file) {
    return Shell.run("sha256sum", file).substring(0, 64);
  }

  private TestDriver start(String digest, long size, Duration quiet) throws Exception {
    return TestDriver.start(
        work, guest.layout().nbdSocket(), digest, size, ByteSize.parse("96Mi"), quiet);
  }
}
