package dev.platter.node;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.lab.MarkerGuest;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.SecretData;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A guest that never stops writing moves back and forth, and misses nothing. */
class MigrationGuestTest {
  @RegisterExtension static final PrivateLibvirtExtension A = new PrivateLibvirtExtension();
  @RegisterExtension static final PrivateLibvirtExtension B = new PrivateLibvirtExtension();

  private static final VmKey KEY = new VmKey("default", "writer");
  private static final Duration SOON = Duration.ofMinutes(1);
  private static final int SECTOR = 512;
  private static final int IMAGE_SECTORS = (64 << 20) / SECTOR;

  /**
   * One sector after the other on both disks, each told when the disks say that it is safe: on the
   * overlay behind what the image has, on the server's disk from its beginning.
   */
  private static final String WRITER =
      """
      root=$(disk root) data=$(disk data) n=0
      exec >/dev/ttyS0 2>&1
      dmesg -n 4
      put() { printf '%%-511s\\n' "record $n" | dd of=$1 bs=512 count=1 seek=$2 iflag=fullblock oflag=direct conv=notrunc,fsync status=none; }
      while put $root $((n + %d)) && put $data $n; do echo "@@WROTE $n"; n=$((n + 1)); usleep 20000; done
      echo "@@FAILED $n"
      """
          .formatted(IMAGE_SECTORS);

  @TempDir Path work;

  /** A line may begin on one node and end on the other. */
  private final StringBuilder console = new StringBuilder();

  @Test
  void everyRecordIsOnTheDisksAndNoWriteFails() throws Exception {
    var shared = work.resolve("shared.raw");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", shared, "4M");
    var nodes = new TwoNodes(work, A, B);
    try (var export = NbdExport.nbdkit(shared, NbdExport.Address.tcp());
        var a = nodes.open(0, new Cancelling());
        var b = nodes.open(1, Progress.NONE)) {
      var port = ((NbdExport.Address.Tcp) export.address()).port();
      var vm = a.run(manifest(a.push("marker", MarkerGuest.qcow2()), port));
      awaitRecords(a, 3);
      assertThatThrownBy(() -> a.node().migrate(KEY, b.node(), SecretData.NONE, Journey.PER_GIB))
          .isInstanceOf(PlatterException.class)
          .hasMessage("cancelled");
      assertThat(Thread.interrupted()).isTrue();
      awaitRecords(a, 3);
      move(a, b);
      awaitRecords(b, 3);
      move(b, a);
      awaitRecords(a, 3);
      a.node().stop(KEY, Duration.ZERO);
      console.append(Files.readString(vm.consoleLog()));

      var told = console.toString().lines().toList();
      assertThat(told).noneMatch(line -> line.contains("FAILED") || line.contains("I/O error"));
      var last = told.stream().filter(line -> line.contains("@@WROTE")).count() - 1;
      assertThat(told).anyMatch(line -> line.contains("@@WROTE " + last));
      var root = work.resolve("root.raw");
      var overlay = nodes.layout(0).disk("default", vm.plan().uuid(), "root", "qcow2");
      Shell.run("qemu-img", "convert", "-O", "raw", overlay, root);
      assertRecords(root, IMAGE_SECTORS, last);
      assertRecords(shared, 0, last);
    }
  }

  /** Gives up the first move when the guest's memory is under way. */
  private static final class Cancelling implements Progress {
    private boolean done;

    @Override
    public void bytes(String what, long moved, long total) {
      if (what.equals("memory") && !done) {
        done = true;
        Thread.currentThread().interrupt();
      }
    }
  }

  /** The console's log goes with the VM's directory. */
  private void move(GuestNode from, GuestNode to) throws IOException {
    var log = from.node().status(KEY).consoleLog();
    var copy = work.resolve("console.log");
    Files.deleteIfExists(copy);
    Files.createLink(copy, log);
    var migrated = from.node().migrate(KEY, to.node(), SecretData.NONE, Journey.PER_GIB);
    console.append(Files.readString(copy));
    System.out.println("moved: " + migrated);
    assertThat(migrated.downtime()).isPositive();
  }

  private static void awaitRecords(GuestNode node, int count) throws IOException {
    var console = node.console(node.node().status(KEY));
    var before = console.lines().stream().filter(line -> line.contains("@@WROTE")).count();
    for (var i = 0; i < before + count; i++) {
      console.await("@@WROTE \\d+$", before == 0 ? GuestNode.BOOT : SOON);
    }
  }

  private static void assertRecords(Path raw, int first, long last) throws IOException {
    var bytes = Files.readAllBytes(raw);
    for (var n = 0; n <= last; n++) {
      var sector = new String(bytes, (first + n) * SECTOR, SECTOR, US_ASCII);
      assertThat(sector)
          .as("sector %d of %s", n, raw)
          .isEqualTo("%-511s\n".formatted("record " + n));
    }
  }

  private static String manifest(String image, int port) {
    return """
    kind: VM
    metadata: {name: writer}
    spec:
      cloudInit:
        userData: |
          #cloud-config
          #marker: echo %s | base64 -d >/tmp/writer; sh /tmp/writer &
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - {name: root, source: {image: "%s"}, size: 80Mi, keep: true}
          - {name: data, source: {nbd: {host: {name: 127.0.0.1, port: %d}}}}
    """
        .formatted(Base64.getEncoder().encodeToString(WRITER.getBytes(UTF_8)), image, port);
  }
}
