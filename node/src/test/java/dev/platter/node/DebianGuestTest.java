package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.DebianGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * cloud-init in a real Debian, from a seed that we wrote. One boot proves all of it, since it takes
 * a minute.
 */
class DebianGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;

  @Test
  void cloudInitWritesFilesMountsDisksAndGrowsTheRoot() throws IOException {
    // Building it takes longer than an idle libvirt lives.
    var image = DebianGuest.qcow2();
    var data = work.resolve("data.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", data, "16M");
    Shell.run("mkfs.ext4", "-q", "-F", data);
    try (var guest = new GuestNode(work, LIBVIRT.uri())) {
      var vm =
          guest.run(
              """
              kind: VirtualMachine
              metadata: {name: debian}
              spec:
                cloudInit:
                  userData:
                    write_files:
                    - {path: /etc/platter/plain, content: "a: 'quoted' <&> ünïcode", permissions: "0640"}
                    - {path: /etc/platter/secret, content: c2VjcmV0Cg==, encoding: b64, permissions: "0400"}
                    mounts:
                    - [/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_data, /mnt/data]
                domain:
                  memory: {guest: 384Mi}
                  devices:
                    disks:
                    - {name: root, source: {image: "%s"}, size: 3Gi}
                    - {name: data, source: {file: %s}}
              """
                  .formatted(guest.push("debian", image), data));
      var console = guest.console(vm);
      console.await("^@@DONE", Duration.ofMinutes(10));
      var lines = console.lines();
      assertThat(lines).anyMatch(line -> line.matches("@@CLOUD-INIT status: done.*NoCloud.*"));
      assertThat(lines)
          .anyMatch(line -> line.contains("@@DMI uuid=" + vm.plan().uuid() + " hostname=debian"));
      assertThat(lines)
          .anyMatch(
              line ->
                  line.startsWith(
                      "@@FILE /etc/platter/plain mode=640:root a: 'quoted' <&> ünïcode"));
      assertThat(lines)
          .anyMatch(line -> line.startsWith("@@FILE /etc/platter/secret mode=400:root secret|"));
      assertThat(lines).anyMatch(line -> line.matches("@@MOUNT /dev/sd. /mnt/data ext4 .*"));
    }
  }
}
