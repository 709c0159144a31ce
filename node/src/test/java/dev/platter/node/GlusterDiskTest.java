package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.GlusterVolume;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** One case only, and not in the matrix: each of its clients takes ten seconds to close. */
class GlusterDiskTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;

  @Test
  void aGlusterDiskIsUsedInPlace() throws Exception {
    try (var gluster = GlusterVolume.start(Files.createDirectory(work.resolve("gluster")));
        var guest = new GuestNode(work, LIBVIRT.uri())) {
      var file = gluster.brick().resolve("disk.raw");
      Shell.run("qemu-img", "create", "-q", "-f", "raw", file, "3M");
      Shell.run("qemu-io", "-f", "raw", "-c", "write -P 77 0 1M", file);
      var before = Shell.run("sh", "-c", "head -c 1048576 " + file + " | sha256sum");
      var vm =
          guest.run(
              """
              kind: VM
              metadata: {name: gluster}
              spec:
                domain:
                  memory: {guest: 128Mi}
                  devices:
                    disks:
                    - {name: root, source: {image: "%s"}}
                    - {name: data, source: {gluster: {host: %s, port: %d, volume: %s, path: disk.raw}}}
              """
                  .formatted(
                      guest.push("marker", MarkerGuest.qcow2()),
                      gluster.host(),
                      gluster.port(),
                      gluster.name()));
      var console = guest.console(vm);
      console.await("^@@READY", GuestNode.BOOT);
      assertThat(before).startsWith(console.disk("data").sha1M());
      guest.type(
          vm, "echo written | dd of=$(disk data) conv=fsync 2>/dev/null; echo @@\"WRITTEN\"");
      console.await("@@WRITTEN", GuestNode.BOOT);
      assertThat(Shell.run("head", "-c", "8", file)).isEqualTo("written\n");
    }
  }
}
