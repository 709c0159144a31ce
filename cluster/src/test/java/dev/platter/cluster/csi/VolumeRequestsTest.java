package dev.platter.cluster.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import csi.v1.CapacityRange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VolumeRequestsTest {
  private static final long MIB = 1 << 20;

  private static CapacityRange range(long required, long limit) {
    return CapacityRange.newBuilder().setRequiredBytes(required).setLimitBytes(limit).build();
  }

  @Test
  void aPodHasItsVolumesAsLongAsItHasADirectory(@TempDir Path kubelet) throws IOException {
    var requests = new VolumeRequests(kubelet, "node");
    var csi = kubelet.resolve("plugins/kubernetes.io/csi");
    var there = Files.createDirectories(kubelet.resolve("pods/there"));
    assertThat(requests.isLeft(csi.resolve("volumeDevices/publish/pv/there"))).isFalse();
    assertThat(requests.isLeft(csi.resolve("volumeDevices/pv/dev/there"))).isFalse();
    assertThat(requests.isLeft(there.resolve("volumes/kubernetes.io~csi/pv/mount"))).isFalse();
    assertThat(requests.isLeft(kubelet.resolveSibling("elsewhere"))).isFalse();
    assertThat(requests.isLeft(csi.resolve("volumeDevices/publish/pv/gone"))).isTrue();
    assertThat(requests.isLeft(csi.resolve("local.csi.platter.dev/1234/globalmount"))).isTrue();
  }

  @Test
  void aVolumeGrowsOnlyToWhatIsAskedFor() {
    assertThat(VolumeRequests.grown(range(0, 0), 100 * MIB)).isEqualTo(100 * MIB);
    assertThat(VolumeRequests.grown(range(0, 2048 * MIB), 100 * MIB)).isEqualTo(100 * MIB);
    assertThat(VolumeRequests.grown(range(50 * MIB, 0), 100 * MIB)).isEqualTo(100 * MIB);
    assertThat(VolumeRequests.grown(range(100 * MIB + 1, 0), 100 * MIB)).isEqualTo(101 * MIB);
    assertThatThrownBy(() -> VolumeRequests.grown(range(-1, 0), MIB))
        .hasMessageContaining("OUT_OF_RANGE");
  }
}
