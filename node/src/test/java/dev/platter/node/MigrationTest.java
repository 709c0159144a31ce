package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.lab.NbdExport;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.SecretData;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A VM without a system to boot moves from one node to another; QEMU's tools look at its disks. */
class MigrationTest {
  @RegisterExtension static final PrivateLibvirtExtension A = new PrivateLibvirtExtension();
  @RegisterExtension static final PrivateLibvirtExtension B = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static TwoNodes nodes;

  @BeforeAll
  static void makeDisks() throws IOException {
    nodes = new TwoNodes(work, A, B);
    nodes.makeImage();
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("shared.raw"), "8M");
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("local.raw"), "8M");
  }

  @Test
  void everyDiskIsWhereTheGuestIsAndNothingIsLeftBehind() throws Exception {
    try (var export = NbdExport.nbdkit(work.resolve("shared.raw"), NbdExport.Address.tcp());
        var a = nodes.open(0, Progress.NONE);
        var b = nodes.open(1, Progress.NONE)) {
      var port = ((NbdExport.Address.Tcp) export.address()).port();
      a.run(
          nodes.manifest(
              "- {name: shared, source: {nbd: {host: {name: 127.0.0.1, port: %d}}}}"
                  .formatted(port)));
      for (var disk = 0; disk < 4; disk++) {
        nodes.qemu(0).write(disk, 34 + disk, "512k");
      }

      var migrated = a.node().migrate(TwoNodes.KEY, b.node(), SecretData.NONE, Journey.PER_GIB);

      assertThat(nodes.runsOn()).isEqualTo(1);
      nodes.assertNothingIsOn(0);
      for (var disk = 0; disk < 4; disk++) {
        nodes.qemu(1).check(disk, 34 + disk, "512k");
      }
      nodes.qemu(1).check(17, "1M");
      assertThat(migrated.downtime()).isBetween(Duration.ofMillis(1), Duration.ofSeconds(5));
      assertThat(migrated.memory()).isPositive();
      assertThat(migrated.disks()).isBetween(3L << 16, 64L << 20);
      b.node().stop(TwoNodes.KEY, Duration.ZERO);
      Shell.run("qemu-img", "check", "-q", nodes.disk(1, "root", "qcow2"));
      b.node().start(TwoNodes.KEY);
      nodes.qemu(1).check(34, "512k");
      nodes.qemu(1).check(3, 37, "512k");
    }
  }

  @Test
  void aVmThatDependsOnItsNodeStaysAndItIsSaidWhichDiskIsWhy() throws Exception {
    try (var a = nodes.open(0, Progress.NONE);
        var b = nodes.open(1, Progress.NONE)) {
      a.run(
          nodes.manifest(
              """
              - {name: local, source: {file: %s/local.raw}}
              - {name: lower, source: {file: %s/shared.raw}, copy: {mode: copy-on-write}}
              """
                  .formatted(work, work)));

      var refused =
          catchThrowableOfType(
              PlatterException.class,
              () -> a.node().migrate(TwoNodes.KEY, b.node(), SecretData.NONE, Journey.PER_GIB));

      assertThat(refused.code()).isEqualTo(PlatterException.Code.UNSUPPORTED);
      assertThat(refused.details())
          .containsExactly(
              "disk local: it is on the file %s/local.raw of this node".formatted(work),
              "disk lower: it is on the file %s/shared.raw of this node".formatted(work));
      assertThat(nodes.runsOn()).isEqualTo(0);
      nodes.assertNothingIsOn(1);
    }
  }

  @Test
  void whatTakesLongerThanItsSizeAllowsIsGivenUpAndStays() throws Exception {
    try (var a = nodes.open(0, Progress.NONE);
        var b = nodes.open(1, Progress.NONE)) {
      a.run(nodes.manifest("- {name: large, source: {blank: {}}, size: 256Mi}"));
      nodes.qemu(0).fill(3, 34, "256M"); // little would be there at the first look
      var refused =
          catchThrowableOfType(
              PlatterException.class,
              () -> a.node().migrate(TwoNodes.KEY, b.node(), SecretData.NONE, Duration.ZERO));
      assertThat(refused.code()).isEqualTo(PlatterException.Code.TIMED_OUT);
      assertThat(refused.next()).contains("--timeout-per-gib");
      assertThat(nodes.runsOn()).isEqualTo(0);
      nodes.assertNothingIsOn(1);
    }
  }

  @Test
  void theBaseIsFetchedByTheOtherNodeWhenItIsRead() throws Exception {
    var there = work.resolve("b");
    var daemon = TestDaemon.command(there, B.uri(), Duration.ofMinutes(5));
    try (var registry = Registry.start();
        var a = nodes.open(0, Progress.NONE);
        var b = new GuestNode(there, B.uri(), daemon)) {
      var image = a.pushSeekable(registry, "lazy", work.resolve("image.raw"));
      a.run(nodes.manifest("").replaceAll("\"oci:[^\"]*\"", image));
      nodes.qemu(0).write(34, "512k");

      a.node().migrate(TwoNodes.KEY, b.node(), SecretData.NONE, Journey.PER_GIB);

      assertThat(nodes.runsOn()).isEqualTo(1);
      assertThat(b.node().images().list())
          .filteredOn(status -> status.image().reference().equals(image))
          .extracting(status -> status.image().state())
          .containsExactly(ImageRecord.State.LAZY);
      nodes.qemu(1).check(17, "1M");
      nodes.qemu(1).check(34, "512k");
    } finally {
      TestDaemon.end(there);
    }
  }
}
