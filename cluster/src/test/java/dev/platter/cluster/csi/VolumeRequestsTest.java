package dev.platter.cluster.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import csi.v1.CapacityRange;
import org.junit.jupiter.api.Test;

class VolumeRequestsTest {
  private static final long MIB = 1 << 20;

  private static CapacityRange range(long required, long limit) {
    return CapacityRange.newBuilder().setRequiredBytes(required).setLimitBytes(limit).build();
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
