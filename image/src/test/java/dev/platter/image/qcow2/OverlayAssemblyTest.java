package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.qcow2.Qcow2Overlay.Backing;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What QEMU wrote into an overlay is taken out of it and put together again; QEMU compares. */
class OverlayAssemblyTest {
  private static final long SIZE = (1L << 30) + 512;

  @TempDir Path dir;
  private Path overlay;
  private Path copy;
  private Backing backing;

  @BeforeEach
  void write() throws IOException {
    overlay = dir.resolve("overlay.qcow2");
    copy = dir.resolve("copy.qcow2");
    var base = Files.write(dir.resolve("base.raw"), MixedBytes.of(3 << 20, 1));
    backing = new Backing(base.toString(), "raw");
    Qcow2Overlay.create(overlay, backing, SIZE);
    Qemu.io(
        overlay,
        "qcow2",
        "write -P 7 600M 1M",
        "write -P 8 0 100k",
        "write -z 1M 256k", // over what the base has
        "write -P 9 2M 64k",
        "discard 2M 64k",
        "write -P 0 700M 64k",
        "write -P 10 %d 512".formatted(SIZE - 512));
  }

  private void copy(int from, int step) throws IOException {
    try (var in = OverlayReader.open(overlay)) {
      copy(in, from, step, backing);
    }
  }

  private void copy(ClusterReader in, int from, int step, @Nullable Backing onto)
      throws IOException {
    try (var out = OverlayAssembly.open(copy, in.virtualSize(), in.addresses())) {
      for (var i = from; i < in.addresses().length; i += step) {
        var count = Math.min(step, in.addresses().length - i);
        var buffer = ByteBuffer.allocate(count * Clusters.SIZE);
        in.read(i, buffer);
        out.write(i, buffer.flip());
      }
      out.finish(onto);
    }
  }

  private void assertSame() {
    assertThat(Qemu.img("check", copy)).contains("No errors were found");
    assertThat(Qemu.img("compare", overlay, copy)).contains("Images are identical");
    assertThat(Qemu.img("info", copy)).contains("backing file: " + backing.path());
  }

  @Test
  void aCopyReadsAsTheOverlayAndHidesTheBaseWhereThatIsHidden() throws IOException {
    copy(0, 7);
    assertSame();
    try (var in = OverlayReader.open(overlay);
        var out = OverlayReader.open(copy)) {
      assertThat(out.addresses()).isEqualTo(in.addresses());
      assertThat(in.addresses()).contains(1 << 20, (1 << 20) + (192 << 10), 600 << 20);
      assertThat(Qemu.allocated(copy)).isLessThan(in.addresses().length * 65536L);
    }
  }

  @Test
  void whatAnEarlierAttemptLeftIsOverwrittenAlsoWithZeros() throws IOException {
    int all;
    try (var in = OverlayReader.open(overlay);
        var out = OverlayAssembly.open(copy, in.virtualSize(), in.addresses())) {
      all = in.addresses().length;
      assertThat(out.present()).isZero();
      var wrong = new byte[all * Clusters.SIZE];
      Arrays.fill(wrong, (byte) 99);
      out.write(0, ByteBuffer.wrap(wrong));
    }
    try (var in = OverlayReader.open(overlay);
        var out = OverlayAssembly.open(copy, in.virtualSize(), in.addresses())) {
      assertThat(out.present()).isEqualTo(all);
      var found = ByteBuffer.allocate(Clusters.SIZE);
      out.read(all - 1, found);
      assertThat(found.get(5)).isEqualTo((byte) 99);
    }
    copy(0, 1);
    assertSame();
    copy(all, 1); // and a finished one is still what it was
    assertSame();
  }

  @Test
  void aFileOfOtherClustersIsBegunAnew() throws IOException {
    copy(0, 3);
    Qemu.io(overlay, "qcow2", "write -P 11 900M 64k");
    try (var in = OverlayReader.open(overlay);
        var out = OverlayAssembly.open(copy, in.virtualSize(), in.addresses())) {
      assertThat(out.present()).isZero();
    }
    copy(0, 3);
    assertSame();
  }

  @Test
  void aDiskThatGrewAndOneThatHasNothingAreCopiedToo() throws IOException {
    Qemu.img("resize", "-q", "-f", "qcow2", overlay, "40G");
    Qemu.io(overlay, "qcow2", "write -P 12 39G 64k");
    copy(0, 16);
    assertSame();
    Files.delete(overlay);
    Qcow2Overlay.create(overlay, backing, SIZE);
    copy(0, 16);
    assertSame();
  }

  /**
   * @param base in place of the one that the overlay names, or the same
   */
  private void assertWhole(Path base, int step) throws IOException {
    try (var in = WholeReader.open(overlay, base)) {
      copy(in, 0, step, null);
    }
    assertThat(Qemu.img("check", copy)).contains("No errors were found");
    assertThat(Qemu.img("compare", overlay, copy)).contains("Images are identical");
    assertThat(Qemu.img("info", copy)).doesNotContain("backing file");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5, 16})
  void anOverlayAndItsBaseMakeADiskThatLiesOnNothing(int step) throws IOException {
    assertWhole(Path.of(backing.path()), step);
    try (var in = WholeReader.open(overlay, Path.of(backing.path()))) {
      assertThat(in.addresses())
          .as("zeros hide nothing any more")
          .doesNotContain(1 << 20, (1 << 20) + (192 << 10))
          .contains(0, 64 << 10, (2 << 20) + (128 << 10), 600 << 20);
    }
  }

  @Test
  void holesOfTheBaseAreNotCopiedAndItMayEndWithinACluster() throws IOException {
    var base = Path.of(backing.path());
    try (var file = new RandomAccessFile(base.toFile(), "rw")) {
      file.setLength(500 << 20);
      file.seek((300 << 20) + 7);
      file.write(MixedBytes.of(1 << 20, 2));
      file.setLength((300 << 20) + (100 << 10) + 512);
    }
    assertWhole(base, 16);
    try (var in = WholeReader.open(overlay, base)) {
      assertThat(in.addresses().length).isLessThan(100);
    }
    // All of it is hidden, or all of it is shown.
    Files.delete(overlay);
    Qcow2Overlay.create(overlay, backing, Files.size(base));
    assertWhole(base, 16);
    Qemu.io(overlay, "qcow2", "write -z 0 " + Files.size(base));
    assertWhole(base, 16);
    try (var in = WholeReader.open(overlay, base)) {
      assertThat(in.addresses()).isEmpty();
    }
  }

  @Test
  void whatIsNoOverlayOfOursIsRefused() throws IOException {
    for (var options : new String[] {"cluster_size=4k", "extended_l2=on", "compat=0.10"}) {
      Files.deleteIfExists(overlay);
      Qemu.img("create", "-q", "-f", "qcow2", "-o", options, overlay, "1M");
      assertThatThrownBy(() -> OverlayReader.open(overlay)).isInstanceOf(BadImageException.class);
    }
    Files.write(overlay, new byte[300]);
    assertThatThrownBy(() -> OverlayReader.open(overlay)).isInstanceOf(BadImageException.class);
  }
}
