package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DebianGuestTest {
  @TempDir Path dir;

  @Test
  void cloudInitWritesFilesMountsBySerialAndGrowsTheRoot() throws Exception {
    Path root = dir.resolve("root.qcow2");
    Shell.run(
        "qemu-img",
        "create",
        "-q",
        "-f",
        "qcow2",
        "-F",
        "qcow2",
        "-b",
        DebianGuest.qcow2(),
        root,
        "1G");
    Path data = dir.resolve("data.raw");
    Shell.run("truncate", "-s", "16M", data);
    Shell.run("mkfs.ext4", "-q", "-F", data);
    Path seed =
        Seed.write(
            dir,
            """
            #cloud-config
            write_files:
            - path: /etc/platter/hello
              permissions: '0640'
              content: |
                hello
                world
            mounts:
            - [/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_data, /mnt/data]
            #marker: stat -f -c %b /
            """);

    try (Machine machine =
        Machine.boot(
            dir,
            "-m",
            "384",
            "-device",
            "virtio-scsi-pci",
            "-drive",
            "if=none,id=root,format=qcow2,file=" + root,
            "-device",
            "scsi-hd,drive=root,serial=root,bootindex=1",
            "-drive",
            "if=none,id=data,format=raw,file=" + data,
            "-device",
            "scsi-hd,drive=data,serial=data",
            "-drive",
            "if=none,id=seed,format=raw,readonly=on,media=cdrom,file=" + seed,
            "-device",
            "scsi-cd,drive=seed")) {
      machine.awaitPowerOff(Duration.ofMinutes(10));
      Console console = machine.console();
      assertThat(console.await("^@@CLOUD-INIT", Duration.ZERO))
          .contains("status: done", "DataSourceNoCloud");
      assertThat(console.await("^@@DMI", Duration.ZERO)).endsWith("hostname=lab-guest");
      assertThat(console.await("^@@MOUNT .* /mnt/data ", Duration.ZERO)).contains(" ext4 ");
      assertThat(console.await("^@@FILE", Duration.ZERO))
          .isEqualTo("@@FILE /etc/platter/hello mode=640:root hello|world|");
      long blocks =
          Long.parseLong(console.await("^@@OUT", Duration.ZERO).substring("@@OUT ".length()));
      assertThat(blocks * 4096).isGreaterThan(800L << 20);
    }
  }
}
