package dev.platter.lab;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MarkerGuestTest {
  private static final Duration BOOT = Duration.ofMinutes(2);
  private static final Duration STEP = Duration.ofSeconds(30);

  @TempDir Path dir;

  @Test
  void bootsFromItsDiskReadsTheSeedAndKeepsWhatIsTyped() throws Exception {
    Path root = dir.resolve("root.qcow2");
    Shell.run(
        "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", MarkerGuest.raw(), root);
    Path seed =
        Seed.write(
            dir,
            """
            #cloud-config
            #marker: echo seeded > /data/seed
            #marker: cat $(disk data) | tr -d '\\000'
            #marker: false
            """);
    Path data = Files.writeString(dir.resolve("data.raw"), "bytes of the data disk\n");
    Shell.run("truncate", "-s", "1M", data);

    try (Machine machine =
        Machine.boot(
            dir,
            "-m",
            "128",
            "-device",
            "virtio-scsi-pci",
            "-drive",
            "if=none,id=root,format=qcow2,file=" + root,
            "-device",
            "scsi-hd,drive=root,serial=root,bootindex=1",
            "-drive",
            "if=none,id=data,format=raw,readonly=on,file=" + data,
            "-device",
            "scsi-hd,drive=data,serial=data",
            "-drive",
            "if=none,id=seed,format=raw,readonly=on,media=cdrom,file=" + seed,
            "-device",
            "scsi-cd,drive=seed")) {
      Console console = machine.console();
      console.await("^@@READY", BOOT);
      assertThat(console.lines())
          .contains(
              "@@CIDATA meta-data: instance-id: lab",
              "@@CIDATA user-data: #cloud-config",
              "@@RC 0 echo seeded > /data/seed",
              "@@OUT bytes of the data disk",
              "@@RC 1 false");
      assertThat(console.disk("root").size()).isEqualTo(64 << 20);
      assertThat(console.disk("root").readOnly()).isFalse();
      assertThat(console.disk("data").readOnly()).isTrue();

      console.await("^platter-guest# $", STEP);
      machine.type("cat /data/seed; echo typed > /data/typed; poweroff");
      console.await("^seeded$", STEP);
      machine.awaitPowerOff(STEP);
    }

    Path raw = dir.resolve("root.raw");
    Shell.run("qemu-img", "convert", "-O", "raw", root, raw);
    assertThat(Shell.run("mtype", "-i", raw + "@@1M", "::typed")).isEqualTo("typed\n");
  }

  @Test
  void bootsByKernelAndHashesADiskWholly() throws Exception {
    byte[] content = new byte[3 << 20];
    new Random(1).nextBytes(content);
    Path disk = Files.write(dir.resolve("disk.raw"), content);
    String commands = Base64.getEncoder().encodeToString("echo ran\npoweroff\n".getBytes(UTF_8));

    try (Machine machine =
        Machine.boot(
            dir,
            "-m",
            "128",
            "-kernel",
            MarkerGuest.kernel(),
            "-initrd",
            MarkerGuest.initrd(),
            "-append",
            "console=ttyS0 quiet marker.disks=1 marker.sha256 marker.sh=" + commands,
            "-drive",
            "if=none,id=disk,format=raw,readonly=on,file=" + disk,
            "-device",
            "virtio-blk-pci,drive=disk,serial=vol-1")) {
      machine.awaitPowerOff(BOOT);
      GuestDisk seen = machine.console().disk("vol-1");
      assertThat(seen.sha256()).contains(sha256(content, content.length));
      assertThat(seen.sha1M()).isEqualTo(sha256(content, 1 << 20));
      assertThat(machine.console().lines()).contains("@@OUT ran");
    }
  }

  private static String sha256(byte[] bytes, int length) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    digest.update(bytes, 0, length);
    return HexFormat.of().formatHex(digest.digest());
  }
}
