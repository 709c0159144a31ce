package dev.platter.node.libvirt;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class StoragePoolTest {
  @RegisterExtension static final PrivateLibvirtExtension NODE = new PrivateLibvirtExtension();

  @Test
  void poolIsTheOneVirshShowsAndItsFilesOutliveIt() throws IOException {
    Path directory = Files.createDirectory(NODE.directory().resolve("pool"));
    String xml =
        "<pool type='dir'><name>disks</name><target><path>%s</path></target></pool>"
            .formatted(directory);
    try (Libvirt libvirt = Libvirt.open(NODE.uri());
        StoragePool pool = libvirt.definePool(xml)) {
      assertThat(NODE.virsh("pool-info", "disks")).containsPattern("State: +inactive");
      assertThat(pool.isActive()).isFalse();
      pool.start();
      assertThat(NODE.virsh("pool-info", "disks")).containsPattern("State: +running");
      assertThat(pool.isActive()).isTrue();
      assertThat(pool.name()).isEqualTo("disks");
      assertThat(pool.uuid()).hasToString(NODE.virsh("pool-uuid", "disks"));
      assertThat(pool.xml().strip()).isEqualTo(NODE.virsh("pool-dumpxml", "disks"));
      assertThat(pool.volumes()).isEmpty();

      Path disk = directory.resolve("a.qcow2");
      Tool.run(List.of("qemu-img", "create", "-q", "-f", "qcow2", disk.toString(), "1M")).expect();
      assertThat(pool.volumes()).isEmpty();
      pool.refresh();
      assertThat(pool.volumes()).containsExactly("a.qcow2");
      assertThat(NODE.virsh("vol-list", "disks")).contains("a.qcow2");

      libvirt.pool("disks").orElseThrow().close();
      pool.stop();
      pool.undefine();
      assertThat(libvirt.pool("disks")).isEmpty();
      assertThat(NODE.virsh("pool-list", "--all")).isEmpty();
      assertThat(disk).exists();
    }
  }
}
