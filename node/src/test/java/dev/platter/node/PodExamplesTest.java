package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.CephCluster;
import dev.platter.lab.FileServer;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The pods of {@code examples/} as they are, but for addresses, keys and devices; an image map
 * leads their images to the small guest.
 */
class PodExamplesTest {
  private static final Path EXAMPLES = Path.of(System.getProperty("repo.root"), "examples");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;

  /** Runs a pod and returns what {@code virsh domblklist} says of its disks. */
  private String disksOf(GuestNode guest, String example, String... replacements)
      throws IOException {
    var text = Files.readString(EXAMPLES.resolve(example));
    for (var i = 0; i < replacements.length; i += 2) {
      assertThat(text).contains(replacements[i]);
      text = text.replace(replacements[i], replacements[i + 1]);
    }
    var vm = guest.run(text);
    try {
      guest.console(vm).await("^@@READY", GuestNode.BOOT);
      var name = vm.plan().namespace() + "." + vm.plan().name();
      return Shell.run("virsh", "-c", LIBVIRT.uri(), "domblklist", name);
    } finally {
      guest.node().remove(vm.key(), true);
    }
  }

  @Test
  void eachOfThemRuns() throws Exception {
    var ceph = CephCluster.shared();
    ceph.createImage("rbd-test-image", 4 << 20);
    ceph.createImage("rbd-test-image-pv", 4 << 20);
    var backing = work.resolve("device.raw");
    Shell.run("truncate", "-s", "16M", backing);
    var served = Files.createDirectory(work.resolve("served"));
    Files.copy(MarkerGuest.qcow2(), served.resolve("cirros-0.3.4-x86_64-disk.img"));
    Files.copy(MarkerGuest.qcow2(), served.resolve("xenial-server-cloudimg-amd64-disk1.img"));
    try (var server = FileServer.http(served);
        var device = LoopDevice.attach(backing);
        var guest = guest(server)) {
      var loop = device.path().toString();
      assertThat(disksOf(guest, "pod-disk-driver.yaml"))
          .contains("vda", "vdb")
          .doesNotContain("sda");
      assertThat(disksOf(guest, "pod-volumes.yaml"))
          .containsPattern("sda .*-root.qcow2")
          .containsPattern("sdb .*/volumes/[0-9a-f-]{36}-vol1\\n")
          .containsPattern("sdc .*/volumes/[0-9a-f-]{36}-vol2\\n")
          .contains("sdd");
      assertThat(disksOf(guest, "pod-raw-device.yaml", "/dev/loop0", loop))
          .containsPattern("sdb +" + loop);
      assertThat(disksOf(guest, "pod-mounts.yaml", "/dev/sdc", loop))
          .containsPattern("sdb .*-docker\\n")
          .containsPattern("sdc +" + loop);
      var image = ceph.pool() + "/rbd-test-image";
      assertThat(
              disksOf(
                  guest, "pod-ceph.yaml", ceph(ceph, "AQDTwuVY8rA8HxAAthwOKaQPr0hRc7kCmR/9Qg==")))
          .containsPattern("sdb +" + image + "\\n");
      assertThat(
              disksOf(
                  guest,
                  "pod-ceph-claim.yaml",
                  ceph(ceph, "AQA1VTpZMnf7ChAAqWQPmvq8pIXPYIDBiRsXeA==")))
          .containsPattern("sdb +" + image + "-pv\\n");
    }
  }

  private static String[] ceph(CephCluster ceph, String key) {
    return new String[] {
      "192.0.2.1:6789",
      ceph.monitor(),
      "libvirt-pool",
      ceph.pool(),
      "ser: libvirt",
      "ser: " + ceph.user(),
      key,
      ceph.key()
    };
  }

  private GuestNode guest(FileServer server) throws IOException {
    var map = work.resolve("images.yaml");
    var config =
        new NodeConfig(GuestNode.layout(work), Optional.of(LIBVIRT.uri()), Optional.empty())
            .withImageMaps(List.of(map));
    var guest = new GuestNode(work, config, Progress.NONE);
    Files.writeString(
        map,
        """
        translations:
        - {name: cirros, url: "%s"}
        - {regexp: '[^/]+/.*/([^/]+\\.img)', url: "%s/$1"}
        """
            .formatted(
                guest.push("marker", MarkerGuest.qcow2()), server.url("").replaceAll("/$", "")));
    return guest;
  }
}
