package dev.platter.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BootTraceTest {
  private static final String MAGIC = "504c545241434531"; // PLTRACE1
  private static final String BLOCK = "00000100";
  private static final String TWO_BLOCKS = "0000020000000000";

  @Test
  void theFileIsAsItsDescriptionSays(@TempDir Path work) throws IOException {
    var trace = BootTrace.of(2 << 16, 1, 0);
    assertThat(HexFormat.of().formatHex(trace.toBytes()))
        .isEqualTo(MAGIC + BLOCK + TWO_BLOCKS + "02000000" + "01000000" + "00000000");
    Path file = Files.write(work.resolve("trace"), trace.toBytes());
    assertThat(BootTrace.read(file)).isEqualTo(trace);
    assertThat(BootTrace.read(file).blocks()).containsExactly(1, 0);
  }

  @ParameterizedTest
  @CsvSource({
    "'', does not begin as one",
    "504c545241434532000001000000020000000000" + "00000000, does not begin as one",
    MAGIC + "00100000" + TWO_BLOCKS + "00000000, its blocks have 4096 bytes",
    MAGIC + BLOCK + "0000000000000000" + "00000000, a disk of 0 bytes",
    MAGIC + BLOCK + "00000000000000ff" + "00000000, a disk of -72057594037927936 bytes",
    MAGIC + BLOCK + TWO_BLOCKS + "ffffffff, has -1 blocks",
    MAGIC + BLOCK + TWO_BLOCKS + "ffffff7f, has 2147483647 blocks",
    MAGIC + BLOCK + TWO_BLOCKS + "01000000, has 0 bytes for 1 blocks",
    MAGIC + BLOCK + TWO_BLOCKS + "0000000000, has 1 bytes for 0 blocks",
    MAGIC + BLOCK + TWO_BLOCKS + "0100000002000000, block 2 is outside the disk",
    MAGIC + BLOCK + TWO_BLOCKS + "01000000ffffffff, block -1 is outside the disk",
    MAGIC + BLOCK + TWO_BLOCKS + "020000000100000001000000, block 1 is there twice",
  })
  void whatIsNoTraceIsRefused(String hex, String why) {
    assertThatThrownBy(() -> BootTrace.parse(HexFormat.of().parseHex(hex)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
  }

  @Test
  void aTraceHasNoMoreBlocksThanAnyGuestReads() throws BadImageException {
    long size = 1L << 40;
    int[] most = IntStream.range(0, BootTrace.MAX_BLOCKS).toArray();
    assertThat(BootTrace.parse(BootTrace.of(size, most).toBytes()).blocks()).isEqualTo(most);
    int[] more = IntStream.rangeClosed(0, BootTrace.MAX_BLOCKS).toArray();
    assertThatThrownBy(() -> BootTrace.of(size, more)).hasMessageContaining("is the most");
  }
}
