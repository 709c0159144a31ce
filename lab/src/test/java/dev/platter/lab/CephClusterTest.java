package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CephClusterTest {
  @Test
  void qemuUsesAnImageWithTheKeyOfItsPoolUnlessTheStorageIsFrozen(@TempDir Path dir)
      throws Exception {
    CephCluster ceph = CephCluster.shared();
    assertThat(CephCluster.shared()).isSameAs(ceph);
    Path disk = TestFile.make(dir.resolve("disk"));
    ceph.importRaw(disk, "imported");
    ceph.createImage("created", 8 << 20);
    assertThat(Shell.run("qemu-img", "info", ceph.url("created"))).contains("(8388608 bytes)");

    assertThat(TestFile.isMarked(ceph.url("imported"))).isFalse();
    TestFile.mark(ceph.url("imported"));
    TestFile.mark(disk.toString());
    Path exported = dir.resolve("exported");
    ceph.export("imported", exported);
    assertThat(Files.mismatch(exported, disk)).isEqualTo(-1);

    String wrongKey = Shell.run("ceph-authtool", "--gen-print-key").strip();
    String wrong = ceph.url("imported").replace(ceph.key(), wrongKey);
    assertThat(Shell.shell().execute("qemu-img", "info", wrong).err()).contains("error connecting");

    Shell admin = Shell.shell().with("CEPH_CONF", ceph.conf().toString());
    admin.check("ceph", "osd", "pool", "create", "other", 1, 1);
    String other = ceph.url("imported").replace(ceph.pool() + "/", "other/");
    assertThat(Shell.shell().execute("qemu-img", "info", other).err())
        .contains("Operation not permitted");

    ceph.freeze();
    try {
      var brief = Shell.shell().within(Duration.ofSeconds(2));
      assertThatThrownBy(() -> brief.execute("qemu-img", "info", ceph.url("imported")))
          .hasMessageContaining("not done after");
    } finally {
      ceph.thaw();
    }
    assertThat(TestFile.isMarked(ceph.url("imported"))).isTrue();
  }
}
