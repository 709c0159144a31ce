package dev.platter.image.raw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.ForeignTool;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** sfdisk sees the partition that we wrote. */
class PartitionTableTest {
  @TempDir Path dir;

  @ParameterizedTest
  @ValueSource(
      longs = {2 << 20, (16 << 20) + 512, 1_024_000_000, 8L << 30, 9_000_000_000L, 2L << 40})
  void oneLinuxPartitionFromAMebibyteToTheEnd(long size) throws IOException {
    Path disk = dir.resolve("disk");
    try (var file = new RandomAccessFile(disk.toFile(), "rw")) {
      file.write(PartitionTable.mbr(size, 0xDEADBEEF));
      file.setLength(size);
    }
    String dump = ForeignTool.run(dir, "sfdisk", "-d", "disk");
    assertThat(dump)
        .contains("label: dos")
        .contains("label-id: 0xdeadbeef")
        .containsPattern("disk1 : start= +2048, size= +" + (size / 512 - 2048) + ", type=83")
        .doesNotContain("disk2");
    assertThat(ForeignTool.run(dir, "sfdisk", "-V", "disk")).contains("No errors detected");
  }

  @Test
  void sizesThatAnMbrCannotExpressAreRefused() {
    for (long size : new long[] {0, 1 << 20, (2L << 40) + 1}) {
      assertThatThrownBy(() -> PartitionTable.mbr(size, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a disk of " + size + " bytes");
    }
  }
}
