package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** That a disk on which something went wrong is not taken for a good one. */
class DiskOracleTest {
  private static final String ONE = "0000000a";
  private static final String OTHER = "0000000b";

  private static Written written(String boot, int number) {
    return new Written("w", boot, number, 100L * number);
  }

  private static byte[] disk(Written... records) {
    var area = ByteBuffer.allocate((records.length + 2) * Written.SECTOR);
    for (var record : records) {
      area.put(record.sector());
    }
    return area.array();
  }

  private static List<String> faults(byte[] disk, Written... answered) {
    return DiskOracle.faults("w", disk, List.of(answered));
  }

  @Test
  void whatWasAnsweredIsThereAndTheLastWriteNeedNotHaveBeen() {
    assertThat(
            faults(
                disk(written(ONE, 0), written(ONE, 1), written(OTHER, 2)),
                written(ONE, 0),
                written(OTHER, 2)))
        .isEmpty();
  }

  @Test
  void aWriteThatIsNotThereIsLost() {
    assertThat(faults(disk(written(ONE, 0)), written(ONE, 0), written(ONE, 1)))
        .singleElement()
        .asString()
        .contains("lost", "number=1");
  }

  @Test
  void aWriteThatWasOverwrittenIsLost() {
    assertThat(faults(disk(written(ONE, 0), written(OTHER, 1)), written(ONE, 1)))
        .singleElement()
        .asString()
        .contains("lost");
  }

  @Test
  void writersThatAlternateAreTwo() {
    assertThat(faults(disk(written(ONE, 0), written(OTHER, 1), written(ONE, 2))))
        .singleElement()
        .asString()
        .contains("two writers");
  }

  @Test
  void oneWrongByteIsSeen() {
    var disk = disk(written(ONE, 0), written(ONE, 1));
    disk[Written.SECTOR + 400] = 'x';
    assertThat(faults(disk, written(ONE, 0), written(ONE, 1)))
        .anyMatch(fault -> fault.contains("sector 1 is torn"))
        .anyMatch(fault -> fault.contains("lost"));
  }

  @Test
  void aRecordOfAnotherDiskIsSeen() {
    assertThat(faults(disk(new Written("other", ONE, 0, 1))))
        .singleElement()
        .asString()
        .contains("holds");
  }
}
