package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.lab.CephCluster;
import dev.platter.lab.Console;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Storage servers that die under a running guest: it waits, and goes on when they are back. */
class OutageTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  private static final Duration PATIENCE = Duration.ofMinutes(3);

  @TempDir Path work;
  private GuestNode guest;

  @BeforeEach
  void openNode() {
    guest =
        new GuestNode(
            work, LIBVIRT.uri(), TestDaemon.command(work, LIBVIRT.uri(), Duration.ofMinutes(5)));
  }

  @AfterEach
  void closeNode() throws Exception {
    guest.close();
    TestDaemon.end(work);
  }

  private Path blank(String name) {
    var file = work.resolve(name);
    Shell.run("qemu-img", "create", "-q", "-f", "raw", file, "8M");
    return file;
  }

  /** Writes a numbered block and reads it back past the cache, and tells of every failure. */
  private static String worker(String disk) {
    return ("(d=$(disk %1$s); i=0; while [ $i -lt 4000 ]; do i=$((i+1));"
            + " printf '%%-512s' $i | dd of=$d bs=512 seek=$((i %% 1000)) conv=fsync 2>/dev/null || echo @@\"FAILED %1$s\" $i;"
            + " [ $((i %% 10)) = 0 ] && echo @@\"%1$s\" $i; done) & ")
        .formatted(disk);
  }

  @Test
  void aGuestWaitsForItsStorageAndGoesOn() throws Exception {
    var nbdFile = blank("nbd.raw");
    var iscsiFile = blank("iscsi.raw");
    var ceph = CephCluster.shared();
    ceph.createImage("outage", 8 << 20);
    try (var nbd = NbdExport.nbdkit(nbdFile, NbdExport.Address.tcp());
        var iscsi = IscsiTarget.start(Files.createDirectory(work.resolve("iscsi")))) {
      var yaml =
          """
          kind: VM
          metadata: {name: outage}
          spec:
            domain:
              memory: {guest: 128Mi}
              devices:
                disks:
                - {name: root, source: {image: "%s"}}
                - {name: nbd, source: {nbd: {host: 127.0.0.1, port: %d}}}
                - {name: iscsi, source: {iscsi: {host: {name: %s, port: %d}, portal: '%s', lun: %d}}}
                - name: ceph
                  source:
                    rbd:
                      monitors: ['%s:%d']
                      pool: %s
                      image: outage
                      auth: {user: %s, secret: {name: ceph}}
          ---
          kind: Secret
          metadata: {name: ceph}
          stringData: {key: %s}
          """
              .formatted(
                  guest.push("marker", MarkerGuest.qcow2()),
                  ((NbdExport.Address.Tcp) nbd.address()).port(),
                  iscsi.host(),
                  iscsi.port(),
                  iscsi.iqn(),
                  iscsi.add(iscsiFile),
                  ceph.host(),
                  ceph.port(),
                  ceph.pool(),
                  ceph.user(),
                  ceph.key());
      var objects = Manifests.objects("vm.yaml", yaml);
      var vm = guest.node().run(objects.vms().getFirst(), objects);
      var console = guest.console(vm);
      console.await("^@@READY", GuestNode.BOOT);
      guest.type(vm, worker("nbd") + worker("iscsi") + worker("ceph"));
      for (var disk : new String[] {"nbd", "iscsi", "ceph"}) {
        console.await("@@" + disk + " \\d+", PATIENCE);
      }
      outage(console, "iscsi", iscsi::stop, iscsi::restart);
      outage(console, "ceph", ceph::freeze, ceph::thaw);
      outage(
          console,
          "nbd",
          () -> {
            nbd.stop();
            awaitPaused();
          },
          nbd::restart);
      assertThat(console.lines()).noneMatch(line -> line.startsWith("@@FAILED"));
    }
  }

  @Test
  void whatACopyOnReadDiskHasReadStaysReadableWithoutItsMaster() throws Exception {
    var master = blank("master.raw");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 5 0 8M", master);
    try (var nbd = NbdExport.nbdkit(master, NbdExport.Address.tcp())) {
      var vm =
          guest.run(
              """
              kind: VM
              metadata: {name: outage}
              spec:
                domain:
                  memory: {guest: 128Mi}
                  devices:
                    disks:
                    - {name: root, source: {image: "%s"}}
                    - name: filling
                      source: {nbd: {host: 127.0.0.1, port: %d}}
                      copy: {mode: copy-on-read}
              """
                  .formatted(
                      guest.push("marker", MarkerGuest.qcow2()),
                      ((NbdExport.Address.Tcp) nbd.address()).port()));
      var console = guest.console(vm);
      console.await("^@@READY", GuestNode.BOOT);
      guest.type(vm, read("FIRST"));
      console.await("@@FIRST .*", PATIENCE);
      nbd.stop();
      guest.type(vm, "echo 3 > /proc/sys/vm/drop_caches; " + read("AGAIN"));
      console.await("@@AGAIN .*", PATIENCE);
      var hash =
          Shell.run("sh", "-c", "head -c 4194304 " + master + " | sha256sum").substring(0, 64);
      for (var mark : new String[] {"@@FIRST ", "@@AGAIN "}) {
        // The echo of what is typed next may stand behind it.
        assertThat(console.lines()).anyMatch(line -> line.contains(mark + hash));
      }
      guest.type(vm, "dd if=$(disk filling) bs=1M skip=6 count=1 of=/dev/null");
      awaitPaused();
    }
  }

  private static String read(String mark) {
    return "echo @@\""
        + mark
        + "\" $(dd if=$(disk filling) bs=1M count=4 2>/dev/null | sha256sum | cut -c1-64)";
  }

  /** QEMU pauses the guest for I/O errors; who polls meets it between two attempts to revive it. */
  private static void awaitPaused() {
    for (var tries = 0; tries < 1800; tries++) {
      if (Shell.run("virsh", "-c", LIBVIRT.uri(), "domstate", "--reason", "default.outage")
          .contains("paused (I/O error)")) {
        return;
      }
      sleep(100);
    }
    throw new AssertionError("the VM was not paused");
  }

  private static void outage(Console console, String disk, Runnable begin, Runnable end) {
    begin.run();
    try {
      sleep(4000);
    } finally {
      end.run();
    }
    var before = last(console, disk);
    for (var tries = 0; last(console, disk) <= before + 20; tries++) {
      assertThat(tries).as(disk + " goes on after " + before).isLessThan(2400);
      sleep(100);
    }
  }

  private static int last(Console console, String disk) {
    return console.lines().stream()
        .filter(line -> line.matches("@@" + disk + " \\d+"))
        .mapToInt(line -> Integer.parseInt(line.replaceAll("\\D", "")))
        .max()
        .orElse(0);
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
