package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A lease lasts as long as its VM runs, whatever becomes of the processes that took it. */
class LeaseSurvivalTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;

  private static String vm(String name, String host, int port) {
    return """
        kind: VM
        metadata: {name: %s}
        spec:
          domain:
            memory: {guest: 32Mi}
            devices: {disks: [{name: d, source: {nbd: {host: {name: %s, port: %d}}}}]}
        """
        .formatted(name, host, port);
  }

  @Test
  void aLeaseSurvivesPlatterAndEndsWithTheVm() throws Exception {
    var disk = work.resolve("disk.raw");
    Shell.run("truncate", "-s", "4M", disk);
    var address = (NbdExport.Address.Tcp) NbdExport.Address.tcp();
    try (var _ = NbdExport.nbdkit(disk, address)) {
      var sweep = new Sweep(work, LIBVIRT, vm("sweep", "localhost", address.port()));
      assertThat(sweep.kill("run", "after:StartDomain")).isTrue();
      assertThat(sweep.qemu().state()).isEqualTo("running");
      try (var node = sweep.node()) {
        ThrowingCallable second = () -> run(node, vm("second", "127.0.0.1", address.port()));
        assertRefused(second, "default/sweep");
        node.tidy();
        assertRefused(second, "default/sweep");
        assertThat(node.list()).singleElement().extracting(VmStatus::key).isEqualTo(Sweep.KEY);

        sweep.virsh("destroy", sweep.uuid());
        node.tidy();
        assertThat(node.status(Sweep.KEY).phase()).isEqualTo(VmStatus.Phase.STOPPED);
        assertThat(sweep.leases()).isEmpty();
        run(node, vm("second", "127.0.0.1", address.port()));
        assertRefused(() -> sweep.startAgain(node), "default/second");

        node.remove(new VmKey("default", "second"), true);
        sweep.startAgain(node);
        node.remove(Sweep.KEY, true);
        assertThat(sweep.leases()).isEmpty();
      }
    }
  }

  private static void run(Node node, String yaml) throws IOException {
    var objects = Manifests.objects("vm.yaml", yaml);
    node.run(objects.vms().getFirst(), objects);
  }

  private static void assertRefused(ThrowingCallable start, String holder) {
    assertThatThrownBy(start).hasMessageContaining("is in use by the VM " + holder);
  }
}
