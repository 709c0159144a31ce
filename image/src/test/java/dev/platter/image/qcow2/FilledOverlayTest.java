package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.qcow2.Qcow2Overlay.Backing;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.raw.SparseFile;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** QEMU reads what an overlay was made with, and goes on writing in it. */
class FilledOverlayTest {
  private static final long T = 1L << 40;

  @TempDir Path dir;
  private Path overlay;

  @BeforeEach
  void name() {
    overlay = dir.resolve("overlay.qcow2");
  }

  @Test
  void clustersHideTheBaseAndTheRestShowsIt() throws IOException {
    byte[] bytes = MixedBytes.of(3 << 20, 7);
    Path base = Files.write(dir.resolve("base.raw"), bytes);
    long[] at = {0, 5 << 16, 6 << 16, 47 << 16, 100 << 16};
    Qcow2Overlay.create(overlay, new Backing("base.raw", "raw"), 8 << 20, numbered(at));
    byte[] expected = Arrays.copyOf(bytes, 8 << 20);
    for (int i = 0; i < at.length; i++) {
      Arrays.fill(expected, (int) at[i], (int) at[i] + Clusters.SIZE, (byte) (i + 1));
    }
    Path raw = Files.write(dir.resolve("expected.raw"), expected);
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", overlay, raw);
    clean();
  }

  @Test
  void aClusterOfZerosHidesTheBaseAndTakesNoSpace() throws IOException {
    Path base = dir.resolve("base.raw");
    byte[] bytes = new byte[1 << 20];
    Arrays.fill(bytes, (byte) 9);
    Files.write(base, bytes);
    Qcow2Overlay.create(overlay, new Backing("base.raw", "raw"), 1 << 20, same(0, 1 << 16));
    Qemu.io(overlay, "qcow2", "read -P 9 0 64k", "read -P 0 64k 64k", "read -P 9 128k 896k");
    clean();
    assertThat(Qemu.allocated(overlay)).isLessThanOrEqualTo(32 << 10);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 8191, 8192, 8193, 32758, 32759, 32760, 32761, 40000})
  void refcountsAreRightWhereTablesAndBlocksBecomeFull(int clusters) throws IOException {
    long[] at = LongStream.range(0, clusters).map(i -> i << 16).toArray();
    Qcow2Overlay.create(overlay, null, 4L << 30, same(0, at));
    clean();
    goOnWriting("3G");
  }

  @Test
  void farApartClustersHaveATableEach() throws IOException {
    long[] at = {0, (1L << 29) - (1 << 16), 1L << 29, T, 30 * T, 64 * T - (1 << 16)};
    Qcow2Overlay.create(overlay, null, 64 * T, numbered(at));
    for (int i = 0; i < at.length; i++) {
      Qemu.io(overlay, "qcow2", "read -P %d %d 64k".formatted(i + 1, at[i]));
    }
    Qemu.io(overlay, "qcow2", "read -P 0 64k 1M", "read -P 0 2T 1M");
    clean();
    goOnWriting("5T");
  }

  @Test
  void aDiskBecomesAStandAloneCopyWithoutItsZeros() throws IOException {
    Path raw = Files.write(dir.resolve("disk.raw"), MixedBytes.of((5 << 20) + 512, 3));
    try (RawDisk disk = RawDisk.open(raw)) {
      Qcow2Overlay.create(overlay, null, disk.virtualSize(), Clusters.of(disk));
    }
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", overlay, raw);
    clean();
    SameAsQemu.check(overlay);
    Path again = dir.resolve("again.qcow2");
    try (RawDisk disk = RawDisk.open(raw)) {
      Qcow2Overlay.create(again, null, disk.virtualSize(), Clusters.of(disk));
    }
    assertThat(Files.mismatch(overlay, again)).isEqualTo(-1);
  }

  @Test
  void anEmptySparseDiskGivesAnEmptyOverlay() throws IOException {
    Path raw = dir.resolve("disk.raw");
    SparseFile.create(raw, 2 * T);
    try (RawDisk disk = RawDisk.open(raw)) {
      assertThat(Clusters.of(disk).addresses()).isEmpty();
    }
  }

  @Test
  void addressesThatOverlapOrLieOutsideAreRefused() {
    for (long[] at : new long[][] {{1}, {-65536}, {1 << 20}, {0, 0}, {65536, 0}, {512}}) {
      assertThatThrownBy(() -> Qcow2Overlay.create(overlay, null, 1 << 20, same(1, at)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("cluster at ");
      assertThat(overlay).doesNotExist();
    }
  }

  private void clean() {
    assertThat(Qemu.img("check", overlay)).contains("No errors were found");
  }

  private void goOnWriting(String where) {
    Qemu.io(
        overlay,
        "qcow2",
        "write -P 77 " + where + " 3M",
        "write -P 78 4k 4k",
        "read -P 77 " + where + " 3M",
        "read -P 78 4k 4k");
    clean();
  }

  /** The first cluster is all ones, the second all twos, and so on. */
  private static Clusters numbered(long... addresses) {
    return clusters(false, 1, addresses);
  }

  private static Clusters same(int value, long... addresses) {
    return clusters(true, value, addresses);
  }

  private static Clusters clusters(boolean same, int value, long... addresses) {
    return new Clusters() {
      @Override
      public long[] addresses() {
        return addresses;
      }

      @Override
      public void read(long address, ByteBuffer into) {
        int number = same ? value : value + Arrays.binarySearch(addresses, address);
        byte[] bytes = new byte[SIZE];
        Arrays.fill(bytes, (byte) number);
        into.put(bytes);
      }
    };
  }
}
