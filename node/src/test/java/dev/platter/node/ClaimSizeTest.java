package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ClaimSizeTest {
  private static final long MIB = 1 << 20;

  @ParameterizedTest
  @ValueSource(
      longs = {1, MIB, 19 * MIB, 95 * MIB + 1, 1215 * MIB, 1216 * MIB, 1217 * MIB, 10240 * MIB})
  void itIsTheSmallestThatHasRoom(long disk) {
    var claim = ClaimSize.forDisk(disk);
    assertThat(DiskImg.sizeFor(claim)).isGreaterThanOrEqualTo(disk);
    assertThat(DiskImg.sizeFor(claim - MIB)).isLessThan(disk);
  }
}
